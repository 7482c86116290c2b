//go:build !linux

package auth

import "time"

// bootClock may stand still while the machine is suspended.
func bootClock() func() time.Duration { return monotonicClock() }

//go:build !linux

package main

import "time"

// bootClock may stand still while the machine is suspended.
func bootClock() func() time.Duration { return monotonicClock() }

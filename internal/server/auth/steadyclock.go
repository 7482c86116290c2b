package auth

import (
	"time"

	"k8s.io/utils/clock"
)

// SteadyClock adds what has elapsed to the time of another clock at its start. Setting the clock of the machine does not
// change it: until the next answer of the API server, the measured offset would be wrong by the step, and a later
// deployment could be stored as an older one. For the same reason it counts time in which the machine was suspended. If
// a hypervisor stops all clocks, such as for a snapshot, it is behind until the API server answers again.
type SteadyClock struct {
	boot    func() time.Duration // since some moment before
	started time.Duration        // by boot
	shown   time.Time            // at the start
}

// NewSteadyClock returns a clock that starts at the time of another one.
func NewSteadyClock(c clock.PassiveClock) SteadyClock { return newSteadyClock(c, bootClock()) }

func newSteadyClock(c clock.PassiveClock, boot func() time.Duration) SteadyClock {
	return SteadyClock{boot, boot(), c.Now()}
}

// Ahead is a clock that differs from this one.
func (c SteadyClock) Ahead(by time.Duration) SteadyClock {
	c.shown = c.shown.Add(by)
	return c
}

// monotonicClock is Go's.
func monotonicClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// Now is the time that the other clock would show, had it not been set.
func (c SteadyClock) Now() time.Time { return c.shown.Add(c.boot() - c.started) }

// Since is how long ago a time of this clock was.
func (c SteadyClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

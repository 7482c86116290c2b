package auth

import (
	"time"

	"k8s.io/utils/clock"
)

// SteadyClock adds what has elapsed, also while the machine was suspended, to another clock's time at its start. Setting that clock changes
// nothing: else later deployments could be stored as older ones. If a hypervisor stops all clocks, it lags until the API server answers.
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

// Ahead returns a clock that is ahead of this one.
func (c SteadyClock) Ahead(by time.Duration) SteadyClock {
	c.shown = c.shown.Add(by)
	return c
}

func monotonicClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// Now is the time that the other clock would show if it was never set.
func (c SteadyClock) Now() time.Time { return c.shown.Add(c.boot() - c.started) }

// Since is how long ago a time of this clock was.
func (c SteadyClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

package main

import (
	"fmt"
	"os"
	"time"

	"k8s.io/utils/clock"
)

// clockAheadVariable makes a replica start with a wrong clock, such as 1h or -1h. Only tests set it.
const clockAheadVariable = "POSTFLIGHT_TEST_CLOCK_AHEAD"

// machineClock is the clock of the machine, unless a test sets clockAheadVariable.
func machineClock() (clock.PassiveClock, error) {
	text := os.Getenv(clockAheadVariable)
	if text == "" {
		return clock.RealClock{}, nil
	}
	ahead, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clockAheadVariable, err)
	}
	c := newSteadyClock(clock.RealClock{}, bootClock())
	c.shown = c.shown.Add(ahead)
	return c, nil
}

// steadyClock shows the time of another clock at its start, and then what has elapsed since. A step of the other
// clock does not change it: until the next answer of the API server, the offset that was measured would be wrong by
// the step, and a later deployment could be stored as an older one. For the same reason, what has elapsed must include
// the time in which the machine was suspended. A hypervisor may stop all clocks of a machine, though, such as for a
// snapshot: then this one is behind until the API server has answered again.
type steadyClock struct {
	boot    func() time.Duration // since some moment before
	started time.Duration        // by boot
	shown   time.Time            // at the start
}

func newSteadyClock(c clock.PassiveClock, boot func() time.Duration) steadyClock {
	return steadyClock{boot, boot(), c.Now()}
}

// monotonicClock is Go's.
func monotonicClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// Now is the time that the other clock would show, had it not been set.
func (c steadyClock) Now() time.Time { return c.shown.Add(c.boot() - c.started) }

// Since is how long ago a time of this clock was.
func (c steadyClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

package auth

import (
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestSteadyClock: what has elapsed by the clock of the boot counts, and not what the machine shows meanwhile.
func TestSteadyClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elapsed, asleep := monotonicClock(), time.Duration(0)
		machine := clocktesting.NewFakePassiveClock(time.Now().Add(time.Minute))
		c := newSteadyClock(machine, func() time.Duration { return 100*time.Hour + elapsed() + asleep })
		if ahead := time.Until(c.Now()); ahead != time.Minute {
			t.Errorf("it starts %s ahead, want a minute, as the clock of the machine", ahead)
		}
		for _, tc := range []struct {
			what          string
			ahead, asleep time.Duration
		}{
			{"was set back", -time.Hour, 0},
			{"was set forward", time.Hour, 0},
			{"was suspended, and set then", 2 * time.Hour, time.Hour},
			{"was suspended, and not set yet", 2 * time.Hour, time.Hour},
		} {
			before := c.Now()
			machine.SetTime(time.Now().Add(tc.ahead))
			asleep += tc.asleep
			time.Sleep(time.Second)
			if passed := c.Since(before); passed != tc.asleep+time.Second {
				t.Errorf("the machine %s: %s have passed, want %s", tc.what, passed, tc.asleep+time.Second)
			}
		}
	})
}

// TestBootClock: a machine that is awake has the same seconds.
func TestBootClock(t *testing.T) {
	boot, began := bootClock(), time.Now()
	before := boot()
	later := time.Now()
	time.Sleep(50 * time.Millisecond)
	least := time.Since(later)
	elapsed, most := boot()-before, time.Since(began)
	if elapsed < least || elapsed > most {
		t.Errorf("%s have passed, want %s to %s", elapsed, least, most)
	}
}

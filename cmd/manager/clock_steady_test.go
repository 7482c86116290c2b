package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// wrongClock is ahead of the machine's, and may be set.
type wrongClock struct{ ahead *atomic.Int64 } // nanoseconds

func newWrongClock(ahead time.Duration) wrongClock {
	c := wrongClock{&atomic.Int64{}}
	c.set(ahead)
	return c
}

func (c wrongClock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

func (c wrongClock) Now() time.Time                  { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c wrongClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// TestSteadyClock: what has elapsed by the clock of the boot counts, and not what the machine shows meanwhile.
func TestSteadyClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, elapsed, asleep := newWrongClock(time.Minute), monotonicClock(), time.Duration(0)
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
			machine.set(tc.ahead)
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

// TestClockIsSet: the clock of a machine is set between two notifications, before the API server is asked again for the
// time. The later one must still be the newer one.
func TestClockIsSet(t *testing.T) {
	tier.All(t, "it waits until replicas have measured a clock, twice")
	s := apiserver.Alone(t)
	machine := newWrongClock(0)
	m := startManagerBy(t, apiserver.Kubeconfig(t, s.Manager(t)), machine, leads)
	for name, step := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			tm := newTenant(t, s)
			machine.set(0)
			first := tm.deploy(t, m.url, "first")
			machine.set(step)
			second := tm.deploy(t, m.url, "second")
			if !first.Spec.ReceivedAt.Time.Before(second.Spec.ReceivedAt.Time) {
				t.Errorf("the first notification was received at %s, the second at %s", first.Spec.ReceivedAt, second.Spec.ReceivedAt)
			}
			poll.True(t, "the older one is superseded", func() bool {
				return tm.state(t, first) == v1alpha1.ReasonSuperseded && tm.hasJob(t, second)
			})
		})
	}
}

func TestMachineClock(t *testing.T) {
	t.Setenv(clockAheadVariable, "-1h")
	c, err := machineClock()
	if err != nil {
		t.Fatal(err)
	}
	if behind := time.Since(c.Now()).Round(time.Minute); behind != time.Hour {
		t.Errorf("the clock is %s behind, want an hour", behind)
	}
	t.Setenv(clockAheadVariable, "soon")
	if _, err := machineClock(); err == nil {
		t.Error("a wrong duration is no error")
	}
}

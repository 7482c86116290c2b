package main

import (
	"sync/atomic"
	"testing"
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

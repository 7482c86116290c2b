package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/auth"
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
	return steadyClock{time.Now(), time.Now().Add(ahead)}, nil
}

// steadyClock shows the time of another clock at its start, and then what has elapsed since. A step of the other
// clock does not change it: until the next answer of the API server, the offset that was measured would be wrong by
// the step, and a later deployment could be stored as an older one.
type steadyClock struct {
	started time.Time // has a monotonic reading
	shown   time.Time // at the start
}

func newSteadyClock(c clock.PassiveClock) steadyClock { return steadyClock{time.Now(), c.Now()} }

// Now is the time that the other clock would show, had it not been set.
func (c steadyClock) Now() time.Time { return c.shown.Add(time.Since(c.started)) }

// Since is how long ago a time of this clock was.
func (c steadyClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// setupAPIServerProbe adds the probe, which measures how far this replica's clock is from the API server's. It
// does so once before anything runs: a leader must never decide by a wrong clock.
func setupAPIServerProbe(ctx context.Context, mgr ctrl.Manager, o options, in surroundings, ready checks) (*auth.APIServerProbe, error) {
	probe := &auth.APIServerProbe{Ask: askVersion(mgr), Clock: in.steady, Log: ctrl.Log.WithName("clock")}
	ready["apiserver"], ready["clock"] = probe.Lost(o.holdBudget), probe.ClockAgrees
	_ = probe.Probe(ctx) // without an answer, the clocks are taken to agree
	return probe, errors.Join(mgr.Add(probe), probe.Register(in.metrics))
}

// serverClock is this replica's clock, corrected to the API server's, which sets the times in the objects.
type serverClock struct {
	clock.PassiveClock
	probe *auth.APIServerProbe
}

// Now is the API server's time.
func (c serverClock) Now() time.Time { return c.probe.ServerTime(c.PassiveClock.Now()) }

// Since is how long ago a time of the API server was.
func (c serverClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

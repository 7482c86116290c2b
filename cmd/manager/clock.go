package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/auth"
)

// setupAPIServerProbe adds the probe, which measures how far this replica's clock is from the API server's. It
// does so once before anything runs: a leader must never decide by a wrong clock.
func setupAPIServerProbe(ctx context.Context, mgr ctrl.Manager, o options, in surroundings, ready checks) (*auth.APIServerProbe, error) {
	probe := &auth.APIServerProbe{Ask: askVersion(mgr), Clock: in.clock, Log: ctrl.Log.WithName("clock")}
	ready["apiserver"] = probe.Lost(o.holdBudget)
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

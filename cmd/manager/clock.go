package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/auth"
)

// setupContact adds the probe of the API server, which also measures the offset of this replica's clock. It does
// so once before anything runs: a leader must never decide by a wrong clock.
func setupContact(ctx context.Context, mgr ctrl.Manager, o options, in surroundings, ready checks) (*auth.Contact, error) {
	contact := &auth.Contact{Probe: probe(mgr), Now: in.clock.Now, Log: ctrl.Log.WithName("clock")}
	ready["apiserver"] = contact.Lost(o.holdBudget)
	contact.Measure(ctx)
	return contact, errors.Join(mgr.Add(contact), contact.Register(in.metrics))
}

// serverClock is this replica's clock plus its offset from the API server's, whose times are in the objects.
type serverClock struct {
	clock.PassiveClock
	contact *auth.Contact
}

// Now is the API server's time.
func (c serverClock) Now() time.Time { return c.contact.ServerTime(c.PassiveClock.Now()) }

// Since is how long ago a time of the API server was.
func (c serverClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

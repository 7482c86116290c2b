package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/server/auth"
)

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

// askVersion asks the API server for its version, which everyone may read, and takes the time from the answer. A
// time that cannot be parsed is no failure: the API server answered.
func askVersion(mgr ctrl.Manager) func(context.Context) (time.Time, error) {
	server, _, urlErr := rest.DefaultServerUrlFor(mgr.GetConfig()) // a kubeconfig may contain a host without a scheme
	return func(ctx context.Context) (time.Time, error) {
		if urlErr != nil {
			return time.Time{}, urlErr
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
		if err != nil {
			return time.Time{}, err
		}
		resp, err := mgr.GetHTTPClient().Do(req)
		if err != nil {
			return time.Time{}, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return time.Time{}, fmt.Errorf("the API server answered %s", resp.Status)
		}
		date, _ := http.ParseTime(resp.Header.Get("Date"))
		return date, nil
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/server/auth"
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
	return auth.NewSteadyClock(clock.RealClock{}).Ahead(ahead), nil
}

// The probe measures the clock once before anything runs: a leader must never decide by a wrong clock.
func setupAPIServerProbe(ctx context.Context, mgr ctrl.Manager, o options, env surroundings, ready checks) (*auth.APIServerProbe, error) {
	probe := &auth.APIServerProbe{
		Ask: auth.AskVersion(mgr.GetConfig(), mgr.GetHTTPClient()), Clock: env.steady, Log: ctrl.Log.WithName("clock"),
	}
	ready["apiserver"], ready["clock"] = probe.Lost(o.holdBudget), probe.ClockAgrees
	_ = probe.Probe(ctx) // without an answer, the clocks are taken to agree
	return probe, errors.Join(mgr.Add(probe), probe.Register(env.metrics))
}

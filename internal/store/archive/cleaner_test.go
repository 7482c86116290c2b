package archive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestCleaner: the records of each team go when their own lifetime is over. Failures delay that to the next time.
func TestCleaner(t *testing.T) {
	stores.Credentials(t)
	s := stores.Rclone(t)
	w := world{s, &archive.Archive{Bucket: s.Bucket(t)}}
	refusing := s.Options()
	refusing.Endpoint, _ = failingDeletes(t, s.Address, 0)

	old := noon.AddDate(0, 0, -2)
	w.save(t, runAt("brief", "old", old), runAt("brief", "new", noon), runAt("long", "old", old), runAt("unknown", "old", old))
	j := archive.NewJournal(w.Archive, clocktesting.NewFakeClock(noon))
	for _, at := range []time.Time{old, noon} {
		j.Record("brief", line(at, "main"))
	}
	j.Save(quiet(t))
	everything := w.keys(t, "")
	lifetimes := map[string]time.Duration{"brief": 24 * time.Hour, "long": 240 * time.Hour, "none": time.Hour}
	for _, step := range []struct {
		reason    string
		archive   *archive.Archive
		lifetimes map[string]time.Duration
		failure   error
		left      []string
		deleted   float64
	}{
		{"Without the teams, nothing is known to be old.", w.Archive, nil, errors.New("away"), everything, 0},
		{"The store refuses to delete.", &archive.Archive{Bucket: stores.Open(t, refusing)}, lifetimes, nil, everything, 0},
		{"The next time, only what is too old goes.", w.Archive, lifetimes, nil, append(w.keys(t, "brief/postflight-runs/day=2026-11-21/"),
			append(w.keys(t, "brief/postflight-runs/ids/new/"), append(w.keys(t, "brief/postflight-runs/notifications/day=2026-11-21/"),
				append(w.keys(t, "long/"), w.keys(t, "unknown/")...)...)...)...), 1},
	} {
		registry := prometheus.NewRegistry()
		teams := func(context.Context) (map[string]time.Duration, error) { return step.lifetimes, step.failure }
		c := archive.NewCleaner(step.archive, teams, clocktesting.NewFakePassiveClock(noon))
		must(t, c.Register(registry))
		c.Clean(log.IntoContext(t.Context(), logr.Discard()))
		if diff := cmp.Diff(step.left, w.keys(t, "")); diff != "" {
			t.Errorf("%s (-want +left)\n%s", step.reason, diff)
		}
		metrics, err := registry.Gather()
		must(t, err)
		if got := metrics[0].GetMetric()[0].GetCounter().GetValue(); got != step.deleted {
			t.Errorf("%s The metric is %g, want %g.", step.reason, got, step.deleted)
		}
	}
}

// TestCleanerEndsDeployments of Environments whose deletion was not noticed, and deletes old ones. It does not guess.
func TestCleanerEndsDeployments(t *testing.T) {
	stores.Credentials(t)
	s := stores.Rclone(t)
	w := world{s, &archive.Archive{Bucket: s.Bucket(t)}}
	w.deploy(t, deployed("acme", "staging", "acme/shop", "a", minute(0)), deployed("acme", "staging", "acme/shop", "b", minute(1)),
		deployed("acme", "gone", "acme/shop", "a", minute(0)))
	lifetimes := func(context.Context) (map[string]time.Duration, error) {
		return map[string]time.Duration{"acme": time.Hour}, nil
	}
	for _, step := range []struct {
		reason string
		now    int
		exists func(context.Context, string, string) (bool, error)
		left   int
	}{
		{"Without anybody to ask, nothing is looked at.", 0, nil, 3},
		{"The cluster does not answer.", 10, func(context.Context, string, string) (bool, error) { return false, errors.New("away") }, 3},
		{"The other one is gone.", 10, func(_ context.Context, team, name string) (bool, error) {
			return team == "acme" && name == "staging", nil
		}, 4},
		{"An hour later, what is over goes.", 80, func(_ context.Context, _, name string) (bool, error) { return name == "staging", nil }, 1},
	} {
		c := archive.NewCleaner(w.Archive, lifetimes, clocktesting.NewFakePassiveClock(minute(step.now)))
		c.EnvironmentExists = step.exists
		c.Clean(log.IntoContext(t.Context(), logr.Discard()))
		if keys := w.keys(t, "acme/"); len(keys) != step.left {
			t.Errorf("%s %d objects are left, want %d: %q", step.reason, len(keys), step.left, keys)
		}
	}
}

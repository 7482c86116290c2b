package archive_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
)

// TestTeamsShareTheArchive: a team that ends many runs at once hardly delays the record of another team's run.
func TestTeamsShareTheArchive(t *testing.T) {
	t.Parallel()
	const many, workers = 30, 4
	w := world.WithArchive(t, world.PrintsName)
	w.Stop()
	release := w.Archive.Hold()
	other := w.Namespace(t)
	w.Create(build.Team(other, ""))
	w.Parallel(many, func(i int) error { return ended(w, build.Suite(fmt.Sprintf("busy-%03d", i), i), w.NS) })
	w.StartManager(other)
	arePending(w, many)
	w.Must(ended(w, build.Suite("single", 0), other))
	arePending(w, many+1)
	release()
	poll.True(t, "the other team's run is archived", func() bool {
		_, ok := w.Archive.Record("single")
		return ok
	})
	w.Archive.Mu.Lock()
	defer w.Archive.Mu.Unlock()
	position := slices.Index(w.Archive.Order, "single")
	fmt.Printf("ARCHIVE_FAIRNESS runs_of_busy_team=%d archived_before_the_other=%d\n", many, position)
	most := 2 * workers // those that were held, and those that began with it
	if tier.Gate() {
		most = many - 1 // if the other team's took long, some more overtook it
	}
	if position > most {
		t.Errorf("%d of %d runs of the busy team came first", position, many)
	}
}

// arePending waits until so many runs wait for the archive, as the metrics of the manager say.
func arePending(w *world.World, runs float64) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("%.0f runs wait for the archive", runs), func() string {
		families, err := w.Metrics.Gather()
		w.Must(err)
		for _, family := range families {
			if family.GetName() == "postflight_archive_pending" && family.GetMetric()[0].GetGauge().GetValue() == runs {
				return ""
			}
		}
		return "another number"
	})
}

// ended creates a Suite that has ended without pods. It replaces what a manager that runs may have written meanwhile.
func ended(w *world.World, s *v1alpha1.Suite, namespace string) error {
	s.Namespace = namespace
	if err := w.Client.Create(context.Background(), w.Arrives(s)); err != nil {
		return err
	}
	created := s.DeepCopy()
	lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: v1alpha1.Canceled("It was canceled.")}, time.Now())
	return w.Client.Status().Patch(context.Background(), s, client.MergeFrom(created))
}

package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestTeamsShareTheArchive: a team that ends many runs at once hardly delays the record of another team's run.
func TestTeamsShareTheArchive(t *testing.T) {
	t.Parallel()
	const many, workers = 30, 4
	w := newArchiveWorld(t, says)
	w.stop()
	release := w.shelf.hold()
	other := w.Namespace(t)
	w.create(aTeam(other, ""))
	w.parallel(many, func(i int) error { return w.ended(aSuite(fmt.Sprintf("busy-%03d", i), i), w.ns) })
	w.startManager(other)
	w.arePending(many)
	w.must(w.ended(aSuite("single", 0), other))
	w.arePending(many + 1)
	release()
	w.eventually("the other team's run is archived", func() string {
		if _, ok := w.shelf.record("single"); !ok {
			return "it is not"
		}
		return ""
	})
	w.shelf.mu.Lock()
	defer w.shelf.mu.Unlock()
	position := slices.Index(w.shelf.order, "single")
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
func (w *world) arePending(runs float64) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%.0f runs wait for the archive", runs), func() string {
		families, err := w.metrics.Gather()
		w.must(err)
		for _, family := range families {
			if family.GetName() == "postflight_archive_pending" && family.GetMetric()[0].GetGauge().GetValue() == runs {
				return ""
			}
		}
		return "another number"
	})
}

// ended creates a Suite that has ended without pods. It replaces what a manager that runs may have written meanwhile.
func (w *world) ended(s *v1alpha1.Suite, namespace string) error {
	s.Namespace = namespace
	if err := w.Client.Create(context.Background(), w.arrives(s)); err != nil {
		return err
	}
	created := s.DeepCopy()
	lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: v1alpha1.Canceled("It was canceled.")}, time.Now())
	return w.Client.Status().Patch(context.Background(), s, client.MergeFrom(created))
}

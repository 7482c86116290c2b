package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/record"
	"github.com/postflight-dev/postflight/internal/suite"
)

// slowShelf takes a while for each record.
type slowShelf struct{ *shelf }

func (s slowShelf) SaveRecord(ctx context.Context, rec record.Record) error {
	time.Sleep(50 * time.Millisecond)
	return s.shelf.SaveRecord(ctx, rec)
}

// TestTeamsShareTheArchive: a team that ends a hundred runs at once hardly delays the record of another team's run.
func TestTeamsShareTheArchive(t *testing.T) {
	t.Parallel()
	const many = 100
	w := newArchiveWorld(t, says)
	w.stop()
	w.slow = true
	other := w.Namespace(t)
	w.must(w.Client.Create(context.Background(), aTeam(other, "")))
	w.parallel(many, func(i int) error { return w.ended(aSuite(fmt.Sprintf("busy-%03d", i), i), w.ns) })
	w.must(w.ended(aSuite("single", 0), other))
	w.startManager(other)
	position := -1
	w.eventually("the other team's run is archived", func() string {
		w.shelf.mu.Lock()
		defer w.shelf.mu.Unlock()
		if position = slices.Index(w.shelf.order, "single"); position < 0 {
			return fmt.Sprintf("%d others are", len(w.shelf.order))
		}
		return ""
	})
	fmt.Printf("ARCHIVE_FAIRNESS runs_of_busy_team=%d archived_before_the_other=%d\n", many, position)
	if position > many/4 {
		t.Errorf("%d of %d runs of the busy team came first", position, many)
	}
}

// ended creates a Suite that has ended without pods.
func (w *world) ended(s *v1alpha1.Suite, namespace string) error {
	s.Namespace = namespace
	if err := w.Client.Create(context.Background(), w.arrives(s)); err != nil {
		return err
	}
	suite.SetStatus(s, suite.Observation{Suite: s}, suite.Decision{Condition: v1alpha1.Canceled("It was canceled.")}, time.Now())
	return w.Client.Status().Update(context.Background(), s)
}

package fairness

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTeamsShareASemaphore: two teams take turns, even if one of them has many more callers.
func TestTeamsShareASemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(1)
		first, err := s.Acquire(t.Context(), "busy")
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 20)
		var all sync.WaitGroup
		ask := func(team string) {
			all.Go(func() {
				release, err := s.Acquire(t.Context(), team)
				if err != nil {
					t.Error(err)
					return
				}
				order <- team
				release()
			})
		}
		for range 10 {
			ask("busy")
		}
		synctest.Wait()
		ask("other")
		synctest.Wait() // now it waits for the busy team
		first()
		all.Wait()
		if got := []string{<-order, <-order}; got[0] != "other" && got[1] != "other" {
			t.Errorf("the first turns went to %v, want the other team among them", got)
		}
		if len(s.teams) != 0 {
			t.Errorf("%d teams are left behind", len(s.teams))
		}
	})
}

// TestAcquireEndsWithItsContext: a caller that gives up frees its place for others of its team.
func TestAcquireEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(2)
		first, err := s.Acquire(t.Context(), "busy")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := s.Acquire(ctx, "busy"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second of the team: %v, want it to wait for the first", err)
		}
		other, err := s.Acquire(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := s.Acquire(ctx, "third"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the third team: %v, want it to wait for either", err)
		}
		first()
		other()
		if len(s.teams) != 0 {
			t.Errorf("%d teams are left behind", len(s.teams))
		}
	})
}

package history

import (
	"context"
	"sync"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// testSearch looks for a test in the places of days.
type testSearch struct {
	*answer
	name    string
	builder *history.TestBuilder

	mu     sync.Mutex
	places map[httpapi.Place]*presence
	found  bool // some place has it
}

// presence is whether a place has the test on the last day on which it ran all tests, or else on the last day.
type presence struct{ last, known, has bool }

func (p *presence) present() bool { return p.known && p.has || !p.known && p.last }

// day looks for the test in the places of a day. Days are added with the newest first.
func (s *testSearch) day(ctx context.Context, d *history.IndexedDay) (add func(), err error) {
	seen, commits := make([]*history.SeenDay, len(d.Places)), make([]history.Commits, len(d.Places))
	err = atOnce(ctx, len(d.Places), func(ctx context.Context, i int) error {
		pd := &d.Places[i]
		if s.isOver(pd.Place) {
			return nil
		}
		t, found, err := s.find(ctx, d, pd, s.name)
		if found {
			seen[i], commits[i] = d.See(t, pd), d.CommitsOf(t, pd)
		}
		return err
	})
	return func() { s.add(d, seen, commits) }, err
}

// isOver reports whether a place does not have the test any more, and another one does.
func (s *testSearch) isOver(place httpapi.Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[place]
	return s.found && p != nil && p.known && !p.has
}

func (s *testSearch) add(d *history.IndexedDay, seen []*history.SeenDay, commits []history.Commits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range d.Places {
		pd := &d.Places[i]
		p := s.places[pd.Place]
		if p == nil && len(s.places) == history.MaxPlaces {
			s.cut = true
			continue
		}
		if p == nil {
			p = &presence{last: seen[i] != nil}
			s.places[pd.Place] = p
		}
		runs := d.CountedRuns(pd)
		s.builder.AddRuns(pd.Place, runs)
		s.builder.AddCommits(pd.Place, commits[i])
		if !p.known && runs > 0 {
			p.known, p.has = true, seen[i] != nil
			s.found = s.found || p.has
		}
		if seen[i] != nil {
			s.builder.Add(*seen[i])
		}
	}
}

// shown are the places that have the test, or all if none has.
func (s *testSearch) shown() func(httpapi.Place) bool {
	for _, p := range s.places {
		if p.present() {
			return func(place httpapi.Place) bool { return s.places[place].present() }
		}
	}
	return func(httpapi.Place) bool { return true }
}

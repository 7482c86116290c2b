package bounded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// TestLeftOutTriggers: the Roster names what the cache lacks of a namespace, also while a list is read again, at whose beginning it holds
// nothing.
func TestLeftOutTriggers(t *testing.T) {
	s := sourceOf(&stored{})
	is := func(when string, want match.LeftOut) {
		t.Helper()
		if diff := cmp.Diff(want, s.roster.LeftOutTriggers("acme")); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	is("at first", match.LeftOut{})
	s.roster.admit(s, aTrigger(0, 100))
	is("with one that fits", match.LeftOut{})
	s.roster.admit(s, aTrigger(1, 1<<20))
	large := match.LeftOut{Names: []string{"t-01"}}
	is("with a large one", large)
	s.roster.admit(s, inNamespace("other", aTrigger(2, 1<<20)))
	is("with one of another namespace", large)
	s.roster.begin(s)
	is("while all are listed again", large)
	s.roster.admit(s, aTrigger(0, 100))
	s.roster.admit(s, aTrigger(1, 100))
	is("when it has become smaller", match.LeftOut{})
	s.roster.complete(s)
	for i := range 25 {
		s.roster.admit(s, aTrigger(10+i, 500<<10))
	}
	is("with too many", match.LeftOut{Names: []string{"t-26", "t-27", "t-28", "t-29", "t-30"}, Others: 4})
	s.roster.forget(s, aTrigger(10, 0))
	is("when there is room, until it is read", match.LeftOut{Names: []string{"t-26", "t-27", "t-28", "t-29", "t-30"}, Others: 4})
	s.roster.admit(s, aTrigger(26, 500<<10))
	is("when it has been read", match.LeftOut{Names: []string{"t-27", "t-28", "t-29", "t-30", "t-31"}, Others: 3})
	s.roster.admit(s, aTrigger(2, 500<<10))
	for _, e := range excess(s) {
		s.roster.drop(s, s.book.accounts[""], e)
	}
	is("when an older one needs the room", match.LeftOut{Names: []string{"t-02", "t-26", "t-27", "t-28", "t-29"}, Others: 5})
}

func excess(s *source) []*entry {
	all, _ := s.book.accounts[""].review()
	return all
}

func inNamespace(namespace string, t *v1alpha1.Trigger) *v1alpha1.Trigger {
	t.Namespace = namespace
	return t
}

// TestLeftOutOfATeam: the Triggers of a namespace stay left out, or not, when it gets a Team.
func TestLeftOutOfATeam(t *testing.T) {
	s := sourceOf(&stored{})
	s.roster.teams = &teams{owned: map[string]bool{}, known: make(chan struct{})}
	s.roster.admit(s, aTrigger(0, 1<<20))
	s.roster.admit(s, aTrigger(1, 100))
	s.roster.claim("acme")
	want := match.LeftOut{Names: []string{"t-00"}}
	if diff := cmp.Diff(want, s.roster.LeftOutTriggers("acme")); diff != "" {
		t.Error(diff)
	}
	s.book.accounts["acme"].seek(s)
	want.Unknown = true
	if diff := cmp.Diff(want, s.roster.LeftOutTriggers("acme")); diff != "" {
		t.Error(diff)
	}
}

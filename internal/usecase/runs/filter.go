package runs

import (
	"cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Filter has the values that a run must have; an empty one does not matter.
type Filter struct{ Trigger, Environment, Branch, SHA, State string }

// minSHA is how many characters of a commit are enough to find it.
const minSHA = 7

// Matches reports whether a run has the values.
func (f Filter) Matches(s *v1alpha1.Suite) bool {
	d := &s.Spec.Deployment
	return same(f.Trigger, s.Spec.Trigger.Name) && same(f.Environment, s.Spec.Environment) &&
		same(f.State, cmp.Or(s.State(), v1alpha1.ReasonQueued)) &&
		same(notification.BranchName(f.Branch), notification.BranchName(d.Branch)) &&
		(same(f.SHA, d.SHA) || len(f.SHA) >= minSHA && commit.HasSHAPrefix(d.SHA, f.SHA))
}

func same(filter, value string) bool { return filter == "" || filter == value }

package verdict

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
)

// freshness tells a result that counts from a stale one, among the runs of its test.
func (q Question) freshness(s *v1alpha1.Suite, runs []*v1alpha1.Suite) (State, string) {
	maxAge := q.maxAge()
	switch {
	case s.Status.CompletionTime == nil:
		return None, "It is not known when the run ended."
	case maxAge > 0 && q.Now.Sub(ended(s)) > maxAge:
		return Stale, tooOld(ended(s), maxAge, q.Now)
	case untestedDeployment(runs):
		return Stale, "The commit was deployed again since, with another URL, other variables or other files, which no run has tested."
	default:
		return Passed, ""
	}
}

// untestedDeployment reports whether the result of a run was the answer to a deployment that differs from what it tested, and no deployment
// since has started a run. A rerun tests what its run tested.
func untestedDeployment(runs []*v1alpha1.Suite) bool {
	return slices.ContainsFunc(runs, func(s *v1alpha1.Suite) bool {
		other := s.Status.AnsweredOther
		return other != nil && len(other.Differs) > 0 && !slices.ContainsFunc(runs, func(next *v1alpha1.Suite) bool {
			return origin.Of(next.Origin()).Deployment && ledger.CompareRequests(next, s) > 0 && !next.Received().Time.Before(other.NotifiedAt.Time)
		})
	})
}

package verdict

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
)

// deployedOther reports whether the commit may have been deployed in another way than a run has tested, given all runs of the test. A rerun
// tests what the run before it did, so what is known of that run counts for the rerun, too.
func deployedOther(s *v1alpha1.Suite, runs []*v1alpha1.Suite) bool {
	inOrder := slices.SortedFunc(slices.Values(runs), ledger.CompareRequests)
	at := slices.Index(inOrder, s)
	first := at
	for first > 0 && !isDeployment(inOrder[first]) {
		first--
	}
	laterAnswer := func(earlier *v1alpha1.Suite) bool {
		return answeredOther(earlier) && earlier.Status.AnsweredOther.NotifiedAt.After(inOrder[first].DeployedAt().Time)
	}
	return slices.ContainsFunc(inOrder[first:], answeredOther) || slices.ContainsFunc(inOrder[:first], laterAnswer) ||
		slices.ContainsFunc(inOrder[at+1:], func(later *v1alpha1.Suite) bool { return isDeployment(later) && differs(s, later) })
}

func isDeployment(s *v1alpha1.Suite) bool { return origin.Of(s.Origin()).Deployment }

// answeredOther reports whether a run was the answer to a deployment that differs from what it tested.
func answeredOther(s *v1alpha1.Suite) bool {
	return s.Status.AnsweredOther != nil && len(s.Status.AnsweredOther.Differs) > 0
}

// differs compares what a run tested with the deployment that started a later run, as far as the origin of that describes it.
func differs(s, later *v1alpha1.Suite) bool {
	switch origin.Of(later.Origin()).Describes {
	case origin.Everything:
		return len(rerun.Differences(s, later)) > 0
	case origin.Some:
		return len(rerun.SaidDifferences(s, later)) > 0
	default:
		return false
	}
}

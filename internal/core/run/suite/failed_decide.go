package suite

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// rerunsFailed reports whether a run repeats only failed tests, which have to be found first.
func rerunsFailed(o Observation) bool { return o.Suite.Spec.OnlyFailedOf != nil }

// waitForFailed waits for the store as for input files.
func waitForFailed(o Observation, now time.Time) Decision {
	waited, patience, of := now.Sub(since(o.Suite, v1alpha1.ConditionInputsReady, now)), o.Trigger.RunTimeout(), o.Suite.Spec.OnlyFailedOf.Name
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf("The failed tests of the run %s could not be read for %s, because the store cannot be used: %s.%s",
			of, plaintext.Duration(patience), o.Failed.Unavailable, rerunAll(o.Suite)))}
	}
	return Decision{
		Condition: v1alpha1.Queued(fmt.Sprintf("Waiting for the store, which has the failed tests of the run %s: %s. The run starts as soon as the store can be used, "+
			"and ends as Error if that takes longer than %s.", of, o.Failed.Unavailable, plaintext.Duration(patience))),
		RequeueAfter: min(max(waited/4, storeRetryMin), storeRetryMax, patience-waited),
	}
}

// setFailed records since when the store of the failed tests is unavailable, and reports whether it is.
func setFailed(s *v1alpha1.Suite, o Observation, now time.Time) bool {
	if o.Failed == nil || o.Failed.Unavailable == "" {
		return false
	}
	setCondition(s, v1alpha1.StoreUnavailable(fmt.Sprintf("The store of the failed tests cannot be used: %s.", o.Failed.Unavailable)), now)
	return true
}

// NoVersion is a sentence: why a run cannot be taken together with those of a chain, whose versions under test are compared with what there is
// now. changed compares two, and returns a sentence or "".
func NoVersion(s *v1alpha1.Suite, chain []*v1alpha1.Suite, now []v1alpha1.TestedWorkload, changed func(was, is []v1alpha1.TestedWorkload) string) string {
	for _, of := range chain {
		known := of.Status.UnderTest != nil && len(of.Status.UnderTest.Workloads) > 0
		switch {
		case !known && len(now) == 0:
			continue
		case !known:
			return fmt.Sprintf("Nobody knows which version the run %s tested.%s", of.Name, rerunAll(s))
		case len(now) == 0:
			return fmt.Sprintf("Nobody knows whether the Environment has the version that the run %s tested.%s", of.Name, rerunAll(s))
		}
		if change := changed(of.Status.UnderTest.Workloads, now); change != "" {
			return fmt.Sprintf("What was tested changed after the run %s: %s%s", of.Name, change, rerunAll(s))
		}
	}
	return ""
}

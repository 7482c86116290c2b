package suite

import (
	"cmp"
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/core/results"
)

// LastPassed returns the other run of the same Trigger, Environment and variables that passed last and whose tests were counted, or nil. One
// that repeated only failed tests has not run all.
func LastPassed(s *v1alpha1.Suite, runs []*v1alpha1.Suite) (last *v1alpha1.Suite) {
	for _, other := range runs {
		counted := other.Passed() && other.Spec.OnlyFailedOf == nil && other.Status.Results != nil && other.Status.CompletionTime != nil
		if counted && sameTests(s, other) && (last == nil || other.Status.CompletionTime.After(last.Status.CompletionTime.Time)) {
			last = other
		}
	}
	return last
}

// sameTests reports whether two runs should have the same tests.
func sameTests(s, other *v1alpha1.Suite) bool {
	return other.Name != s.Name && other.Spec.Trigger.UID == s.Spec.Trigger.UID && other.Spec.Environment == s.Spec.Environment &&
		digestOf(other) == digestOf(s)
}

// digestOf is that of the variables of a run. A Suite that somebody created by hand has no annotation.
func digestOf(s *v1alpha1.Suite) string {
	return cmp.Or(s.Annotations[v1alpha1.AnnotationVariablesDigest], VariablesDigest(s.Spec.Variables))
}

// expect lets a run fail that passes so far, if it may not have run all its tests. A run that repeats failed tests has to show each of them.
func expect(o Observation, d Decision) Decision {
	if o.Suite.Finished() || d.Condition.Reason != v1alpha1.ReasonPassed || repeatsFailed(o) {
		return d
	}
	switch n := expected(o); {
	case o.Killed != "" && o.PassedBefore == nil:
		d.Condition = v1alpha1.Failed(o.Killed + " Nothing shows that all tests ran: no run of this Trigger, Environment and variables has passed.")
	case o.Killed != "" && o.Missing == nil:
		d.Action, d.Condition = CompareTests, v1alpha1.Running(endedMessage)
	case o.Killed != "" && *o.Missing != "":
		d.Condition = v1alpha1.Failed(fmt.Sprintf("%s Nothing shows that all tests of %s, the run that passed before, ran: %s.", o.Killed, o.PassedBefore.Name, *o.Missing))
	case o.Killed != "":
		d.Condition.Message += fmt.Sprintf(" %s All tests of %s, the run that passed before, ran.", o.Killed, o.PassedBefore.Name)
	case n > 0 && o.Required.Fewer.Policy == v1alpha1.FewerTestsFail:
		d.Condition = v1alpha1.Failed("With results.fewerTests: Fail of the Trigger, that fails the run. " + farFewer(o, n))
	}
	return d
}

// expected is how many tests ran in the last comparable run that passed, if far fewer did in this one; else 0.
func expected(o Observation) int32 {
	if o.PassedBefore == nil || o.Collected == nil || repeatsFailed(o) {
		return 0
	}
	if before := results.Ran(o.PassedBefore.Status.Results); o.Required.Fewer.Far(ran(o), before) {
		return before
	}
	return 0
}

func ran(o Observation) int32 { return o.Collected.Summary.Tests - o.Collected.Summary.Skipped }

func farFewer(o Observation, expected int32) string {
	return fmt.Sprintf("Only %s ran; in %s, the run that passed before, %d did. If that is wrong, check which tests are selected.",
		plaintext.Count(ran(o), "test"), o.PassedBefore.Name, expected)
}

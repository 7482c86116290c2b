package results

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Compare marks the failures that are new since another run, and counts tests that failed there and pass now, by name.
func (t *Tests) Compare(run string, previous []Document) {
	before := Merge(podsOf(previous))
	if run == "" || before.Reports == 0 {
		return
	}
	failedBefore := map[nameHash]bool{}
	for _, f := range before.Failures {
		failedBefore[hashOf(f.Name)] = true
	}
	history := func(test nameHash) v1alpha1.FailureHistory {
		switch {
		case failedBefore[test]:
			return v1alpha1.FailureKnown
		case len(before.Failures) < int(before.Failed): // a document names the first failures only
			return ""
		default:
			return v1alpha1.FailureNew
		}
	}
	t.Counts.ComparedWith = run
	t.countHistories(failedBefore, history)
	for i, f := range t.Failures {
		t.Failures[i].History = history(hashOf(f.Name))
	}
	slices.SortStableFunc(t.Failures, func(a, b Failure) int { return newFirst(a.TestFailure, b.TestFailure) })
}

func (t *Tests) countHistories(failedBefore map[nameHash]bool, history func(nameHash) v1alpha1.FailureHistory) {
	for test, outcome := range t.outcomes {
		switch {
		case outcome == failed && history(test) == v1alpha1.FailureNew:
			t.Counts.NewFailures++
		case outcome == failed && history(test) == v1alpha1.FailureKnown:
			t.Counts.KnownFailures++
		case (outcome == passed || outcome == flaky) && failedBefore[test]:
			t.Counts.Fixed++
		}
	}
}

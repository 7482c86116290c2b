package view_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// TestQuarantinedState: a run that passed with quarantined failures has an icon and a word of its own.
func TestQuarantinedState(t *testing.T) {
	results := func(s *v1alpha1.Suite) {
		s.Status.Results = &v1alpha1.TestResults{Tests: 12, Passed: 10, Failed: 2, Quarantined: 1, Failures: []v1alpha1.TestFailure{
			{Name: "cart", History: v1alpha1.FailureNew, Quarantine: "flaky-cart"}, {Name: "pay", History: v1alpha1.FailureKnown},
		}}
	}
	only := func(s *v1alpha1.Suite) {
		results(s)
		r := s.Status.Results
		r.Passed, r.Failed, r.Failures = 11, 1, r.Failures[:1]
	}
	row := view.RowOf(run("a", passed, only), 0, noon)
	if row.State.Label != "Passed, 1 quarantined" || row.State.Key != view.Quarantined || row.State.Reason != v1alpha1.ReasonPassed || row.State.Bad {
		t.Errorf("%+v", row.State)
	}
	row = view.RowOf(run("b", failed, results), 0, noon)
	if row.State.Label != "Failed" || row.Tests.Failures[0].Name != "pay" || row.Tests.Failures[1].Quarantine != "flaky-cart" {
		t.Errorf("%+v, %+v", row.State, row.Tests)
	}
}

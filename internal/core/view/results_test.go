package view_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	reports "github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func TestExplainSaysTheMessageOnce(t *testing.T) {
	for name, tc := range map[string]struct{ reason, message, text, want string }{
		"its first line":   {"the page shows it already", "Error: not visible", "Error: not visible\n\nLocator: x\n", "Locator: x\n"},
		"a longer line":    {"a part of a line is none", "Error", "Error: not visible", "Error: not visible"},
		"something else":   {"", "Error: not visible", "at cart.ts:12", "at cart.ts:12"},
		"there is no text": {"", "Error: not visible", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			failure := v1alpha1.TestFailure{Name: "cart", Message: tc.message}
			tests := view.TestsOf(run("a", failed, func(s *v1alpha1.Suite) {
				s.Status.Results = &v1alpha1.TestResults{Tests: 1, Failed: 1, Failures: []v1alpha1.TestFailure{failure}}
			}))
			tests.Explain(reports.Explanation{Failures: []reports.Explained{{Failure: reports.Failure{TestFailure: failure, Text: tc.text}}}}, nil)
			if got := tests.Failures[0].Text; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

package report_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func quarantined(s *v1alpha1.Suite) {
	s.Status.Results = &v1alpha1.TestResults{Tests: 12, Passed: 10, Failed: 2, Quarantined: 1, Failures: []v1alpha1.TestFailure{
		{Name: "pay", File: "pay.ts", Line: 3, ExpiredQuarantine: "old"}, {Name: "cart", File: "cart.ts", Line: 7, Quarantine: "flaky-cart"},
	}}
}

func onlyQuarantined(s *v1alpha1.Suite) {
	quarantined(s)
	r := s.Status.Results
	r.Passed, r.Failed, r.Failures = 11, 1, r.Failures[1:]
}

// TestQuarantinedCheck: a pass with quarantined failures is not shown as a plain one, and each failure says what it is.
func TestQuarantinedCheck(t *testing.T) {
	passed := report.Of(aSuite(in(v1alpha1.Passed("ok")), onlyQuarantined), report.Options{})
	if passed.Title != "Passed, with 1 quarantined failure: 11 of 12 tests passed, 1 failed (1 quarantined) in 1m30s" || !passed.Quarantined {
		t.Errorf("%q, %t", passed.Title, passed.Quarantined)
	}
	for _, part := range []string{"- **Outcome:** Passed, with 1 quarantined failure in 1m30s\n", "- **Quarantined** by `flaky-cart`: `cart` in `cart.ts:7`\n"} {
		if !strings.Contains(passed.Summary, part) {
			t.Errorf("the summary lacks %q:\n%s", part, passed.Summary)
		}
	}
	failed := report.Of(aSuite(in(v1alpha1.Failed("1 test failed")), quarantined), report.Options{})
	if failed.Title != "Failed: 10 of 12 tests passed, 2 failed (1 quarantined) in 1m30s" || failed.Quarantined {
		t.Errorf("%q, %t", failed.Title, failed.Quarantined)
	}
	if !strings.Contains(failed.Summary, "- **No longer quarantined** by `old`, which has expired: `pay`") {
		t.Error(failed.Summary)
	}
	if a := failed.Annotations; len(a) != 2 || a[0].Quarantined || !a[1].Quarantined {
		t.Errorf("%+v", a)
	}
}

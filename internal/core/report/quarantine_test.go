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
	if !passed.Quarantined || !strings.Contains(passed.Summary, "**Quarantined** by `flaky-cart`: `cart` in `cart.ts:7`\n") {
		t.Errorf("%t, the summary:\n%s", passed.Quarantined, passed.Summary)
	}
	failed := report.Of(aSuite(in(v1alpha1.Failed("1 test failed")), quarantined), report.Options{})
	if failed.Quarantined || !strings.Contains(failed.Summary, "**No longer quarantined** by `old`, which has expired: `pay`") {
		t.Errorf("%t, the summary:\n%s", failed.Quarantined, failed.Summary)
	}
	if a := failed.Annotations; len(a) != 2 || a[0].Quarantined || !a[1].Quarantined {
		t.Errorf("%+v", a)
	}
}

package announce_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// TestQuarantineInChat: a recovery with quarantined failures is no plain one.
func TestQuarantineInChat(t *testing.T) {
	slack := announce.Receivers(nil, aTrigger())[0]
	for state, want := range map[string][]string{
		"Passed": {":large_green_circle: smoke recovered in staging", "• Quarantined: `cart`"},
		"Failed": {":red_circle: smoke failed in staging", "• Quarantined: `cart`"},
	} {
		s := aRun(state, func(s *v1alpha1.Suite) {
			s.Status.Results = &v1alpha1.TestResults{Tests: 12, Passed: 11, Failed: 1, Quarantined: 1, Failures: []v1alpha1.TestFailure{{Name: "cart", Quarantine: "q"}}}
		})
		body := string(announce.Compose(slack, announce.Target{}, "acme", s, announce.Event{}, report.Options{}, time.Time{}).Body)
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %q in %s", state, part, body)
			}
		}
	}
}

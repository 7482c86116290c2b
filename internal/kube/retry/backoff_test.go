package retry

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// TestBackoff: after many reconciles that failed, the pause is still short, so that the run continues soon after
// the API server is back.
func TestBackoff(t *testing.T) {
	limiter, longest := Backoff(), time.Duration(0)
	for range 100 {
		longest = max(longest, limiter.When(ctrl.Request{}))
	}
	if longest > 30*time.Second {
		t.Errorf("the pause between two reconciles grows to %s, want at most 30s", longest)
	}
}

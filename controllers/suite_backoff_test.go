package controllers

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// TestBackoff: a run whose looks fail for long is looked at soon after they would no longer.
func TestBackoff(t *testing.T) {
	limiter, longest := backoff(), time.Duration(0)
	for range 100 {
		longest = max(longest, limiter.When(ctrl.Request{}))
	}
	if longest > 30*time.Second {
		t.Errorf("the pause between two looks grows to %s, want at most 30s", longest)
	}
}

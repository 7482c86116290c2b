package codehost_test

import (
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// TestGreen: code hosts show only Passed as a success, and nothing as skipped or neutral, because required checks accept these. A state that
// only a later version knows is not green. Every end, and every deployment, has a word.
func TestGreen(t *testing.T) {
	for _, h := range codehost.All() {
		for name, words := range map[string]codehost.Words{"check runs": h.CheckRuns, "statuses": h.Statuses, "deployments": h.Deployments} {
			if name == "check runs" && words == (codehost.Words{}) {
				continue // only GitHub has them
			}
			for _, r := range append(state.All(), state.Of("Later")) {
				shown, passed := words.Of(r.Reason), r.Reason == v1alpha1.ReasonPassed
				if (shown == "success") != passed || slices.Contains([]string{"neutral", "skipped"}, shown) || shown == "" && (name == "deployments" || !r.Open()) {
					t.Errorf("%s of %s show %s as %q", name, h.Name, r.Reason, shown)
				}
			}
		}
	}
}

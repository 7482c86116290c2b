package codehost_test

import (
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// TestGreen: a state that is not Passed, also one that only a later version knows, is green nowhere, and never skipped or neutral, which
// required checks accept. No end lacks a word, and no deployment.
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

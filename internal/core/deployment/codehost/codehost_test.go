package codehost_test

import (
	"slices"
	"strings"
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

// TestMergeQueue: only branches that GitHub makes are of a queue.
func TestMergeQueue(t *testing.T) {
	sha := strings.Repeat("4", 40)
	for branch, want := range map[string]struct {
		base        string
		pullRequest int64
	}{
		"gh-readonly-queue/main/pr-42-" + sha:                                   {"main", 42},
		"gh-readonly-queue/release/1.2/pr-7-" + sha:                             {"release/1.2", 7},
		"gh-readonly-queue/gh-readonly-queue/main/pr-1-" + sha + "/pr-2-" + sha: {"gh-readonly-queue/main/pr-1-" + sha, 2},
		"main":                                              {},
		"gh-readonly-queue/main":                            {},
		"gh-readonly-queue/main/pr-0-" + sha:                {},
		"gh-readonly-queue/main/pr-42-4444":                 {},
		"gh-readonly-queue/main/pr-9999999999999999-" + sha: {},
		"gh-readonly-queue//pr-42-" + sha:                   {},
		"x/gh-readonly-queue/main/pr-42-" + sha:             {},
	} {
		base, pullRequest, ok := codehost.MergeQueue(branch)
		if base != want.base || pullRequest != want.pullRequest || ok != (want.base != "") {
			t.Errorf("%s: %q, %d, %t", branch, base, pullRequest, ok)
		}
	}
}

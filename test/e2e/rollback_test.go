package e2e

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestRollback deploys A, B and A again. The first run of A is superseded and has no result; the second must
// be a run of A, and what the published client reports must be the result of A and not of B.
func TestRollback(t *testing.T) {
	tier.All(t, "TestSuperseding supersedes, and what stands for a rollback is decided in internal/core/run/lifecycle")
	t.Parallel()
	c := useCluster(t)
	npmClient(t)
	tm := newTeam(t, c)
	tm.trigger("shop", runs(`[ "$SLOW" ] && sleep 600; exit "${CODE:-0}"`), grace(1))
	m := tm.sharedManager()
	a, b := sha(), sha()
	of := func(sha string, variables map[string]string) notification {
		return notification{"branch": "main", "sha": sha, "variables": variables}
	}
	outcome := func(id string) any {
		return tm.poll(t, map[string]any{"apiKey": tm.key, "serviceBase": m.url, "poll": map[string]any{"runId": id}})["outcome"]
	}

	first := tm.run(m, of(a, map[string]string{"SLOW": "yes"}))
	tm.awaitPod(first)
	second := tm.run(m, of(b, nil))
	if got := outcome(second); got != "success" {
		t.Fatalf("B ends as %v, want success", got)
	}
	tm.awaitState(first, v1alpha1.ReasonSuperseded)

	third := tm.run(m, of(a, map[string]string{"CODE": "1"})) // fails where there is no such run
	if third == first {
		t.Fatal("the superseded run of A stands for the rollback to A")
	}
	if got := outcome(third); got != "failed" {
		t.Errorf("A is deployed again and broken, and the client's outcome is %v", got)
	}
	s := tm.awaitState(third, v1alpha1.ReasonFailed)
	if s.Spec.Deployment.SHA != a || s.Spec.Attempt != 2 {
		t.Errorf("the third run is attempt %d of %s, want attempt 2 of %s", s.Spec.Attempt, s.Spec.Deployment.SHA, a)
	}
	tm.checkOneAfterTheOther(first, second)

	again := tm.notify(m, of(a, nil))
	if again[0].Duplicate != third {
		t.Errorf("a run with a result is a duplicate: got %+v, want %s", again[0], third)
	}
}

package deploymentgate_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
)

// TestLateDecision: a rejection that was not delivered decides nothing about the next attempt of a workflow run, which has the same number.
func TestLateDecision(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t)
	w.failed("a", build.Commit(1))
	first := w.waits(v1alpha1.GitHub, build.Commit(1), func(q *codehost.Waiting) { q.DeploymentID = 101 })
	first.host.Fail(&codehost.Fault{Status: http.StatusServiceUnavailable, Path: decisionPath[v1alpha1.GitHub]})
	old := w.asks(first, 1, 1)
	w.isTried(old)
	w.Clock.MoveOn(2 * time.Second)
	w.run("b", build.Commit(1), attempt(2))
	second := first
	second.DeploymentID = 102
	review := w.asks(second, 1, 1)
	w.waitsFor(review, v1alpha1.ConditionDecided, "Waiting", "not ended")
	first.host.Fail(nil)
	w.Clock.MoveOn(10 * time.Minute)
	w.wakes()
	w.ends(old)
	w.Passes("b")
	w.isTold(second, review, approved, "passed")
}

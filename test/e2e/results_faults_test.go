package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestResultsWithoutStore: the tests find their directory, and the run does not pass, because nothing reads their reports.
func TestResultsWithoutStore(t *testing.T) {
	tier.All(t, "it needs a manager of its own, and TestResults shows that results are kept")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), runs(report+`echo written`))
	m := runManager(t, c, options{flags: []string{"--store-endpoint=", "--store-bucket="}})
	s := tm.awaitState(tm.failing(m, ""), v1alpha1.ReasonError)
	story(t, "%s\n%s", message(s), collectedMessage(s))
	tm.checkMessage(s, "nothing reads its reports", "--store-bucket", "results.require")
	if !strings.Contains(tm.log(s.Name), "written") || !strings.HasPrefix(collectedMessage(s), "False StoreNotConfigured: ") || s.Status.Results != nil {
		t.Errorf("%q, %q, %+v", tm.log(s.Name), collectedMessage(s), s.Status.Results)
	}
}

// TestResultsWithoutManager: the manager is away when the tests end, so nothing is uploaded, and the run says so once
// the manager is back.
func TestResultsWithoutManager(t *testing.T) {
	tier.All(t, "it needs a manager of its own, and TestResults shows that results are kept")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), runs(report+`sleep 5; [ -z "$FAILED" ]`))
	m := runManager(t, c, options{})
	id := tm.failing(m, "1 2")
	tm.awaitPod(id)
	m.kill()
	poll.True(t, "the pod has ended", func() bool { return tm.pods(id)[0].Status.Phase != corev1.PodRunning })
	m.start()
	m.awaitReady()
	s := tm.awaitState(id, v1alpha1.ReasonFailed)
	story(t, "%s\n%s", message(s), collectedMessage(s))
	tm.checkCounts(s, v1alpha1.TestResults{Tests: 120, Passed: 118, Failed: 2, OnlyTestsFailed: true}, "shop > test 001", "shop > test 002")
	if s.Status.Artifacts != nil || !strings.HasPrefix(collectedMessage(s), "False Incomplete: ") {
		t.Errorf("%+v, %q", s.Status.Artifacts, collectedMessage(s))
	}
}

// TestCollectingIsNotOverdue: tests that end before their time is up pass, although the upload takes longer.
func TestCollectingIsNotOverdue(t *testing.T) {
	tier.All(t, "it needs a manager of its own, and TestResults shows that results are kept")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), timeout(8*time.Second), runs(report))
	store := newStoreProxy(t, c) // it never answers, so that the collector waits for it
	m := runManager(t, c, options{flags: []string{"--store-endpoint=http://" + store.address}})
	s := tm.awaitState(tm.failing(m, ""), v1alpha1.ReasonPassed)
	took := s.Status.CompletionTime.Sub(s.Status.StartTime.Time)
	story(t, "after %s: %s\n%s", took, message(s), collectedMessage(s))
	tm.checkMessage(s, "120 tests passed", "Not uploaded, and lost: 1 file", "postflight runs rerun "+s.Name)
	if took <= 8*time.Second {
		t.Errorf("the run took %s, so that the collector took no longer than the timeout", took)
	}
}

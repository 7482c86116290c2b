package controllers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

const (
	oneFailed = `<testsuite name="shop"><testcase name="login"/><testcase name="cart keeps items" file="cart.spec.ts" line="12"><failure message="timeout"/></testcase></testsuite>`
	twoFailed = `<testsuite name="shop"><testcase name="login"><failure message="500"/></testcase><testcase name="cart keeps items"><failure message="timeout"/></testcase></testsuite>`

	twoDays = 48 * time.Hour
)

func aQuarantine(name, until string, triggers ...string) *v1alpha1.Quarantine {
	last, _ := time.Parse(time.DateOnly, until)
	return &v1alpha1.Quarantine{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.QuarantineSpec{
		Triggers: triggers, Tests: []string{"shop > cart*"}, Reason: "issue 812", Owner: "team-checkout",
		Since: last.AddDate(0, 0, -10).Format(time.DateOnly), Until: until,
	}}
}

func wantsResults(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{} }

// collects reads a report as the collector does, with the Quarantines that the Job gives it.
func (w *world) collects(j *batchv1.Job, report string) string {
	w.t.Helper()
	tests := results.Tests{}
	for _, e := range j.Spec.Template.Spec.InitContainers[0].Env {
		if e.Name == job.CollectQuarantine {
			tests.Quarantines = quarantine.Compile(quarantine.Parse(e.Value).Rules)
		}
	}
	if !tests.Add("junit.xml", strings.NewReader(report)) {
		w.t.Fatal("it is no report")
	}
	return results.Message(tests.Summary())
}

// failsWith runs a Suite whose container exits with a code after it has written a report.
func (w *world) failsWith(name, report string, code int32) {
	w.t.Helper()
	w.runs(name)
	j, p := w.hasJob(name), &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName(name)), p))
	w.status(p, func() {
		fakecluster.EndPod(p, code)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{fakecluster.ContainerStatus(job.CollectContainer, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now(), Message: w.collects(j, report)},
		})}
	})
	w.fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// TestQuarantineOnARequiredCheck: a run in which only a quarantined test failed lets a required check pass, and does not look like
// a plain pass; once the Quarantine has expired, the same failure fails the next run.
func TestQuarantineOnARequiredCheck(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, func(w *reportWorld) {
		w.collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
		w.clock.moveOn(-twoDays)
	})
	w.patchTrigger("smoke", wantsResults)
	w.patchTrigger("token", wantsResults)
	today := time.Now().UTC().Format(time.DateOnly)
	q := aQuarantine("flaky-cart", today, "smoke", "token", "misspelt")
	w.create(q)
	w.ready(q, "True", quarantine.ReasonQuarantined, "The namespace has no such Trigger: misspelt.")

	w.create(aSuite("first", 0, tests(commit(1))), aSuite("others", 1, tests(commit(3))), aSuite("status", 2, of("token"), tests(commit(4))))
	w.failsWith("first", oneFailed, 1)
	s := w.reaches("first", v1alpha1.ReasonPassed, "with 1 quarantined failure.")
	if r := s.Status.Results; r.Failed != 1 || r.Quarantined != 1 || r.Failures[0].Quarantine != "flaky-cart" || s.Status.DecidedBy != v1alpha1.DecidedByTests {
		t.Errorf("%+v by %s", r, s.Status.DecidedBy)
	}
	w.shows(w.gitHub, commit(1), "in_progress", "neutral")
	w.failsWith("others", twoFailed, 1)
	w.reaches("others", v1alpha1.ReasonFailed, "2 of 2 tests failed, 1 of them quarantined, the first: shop > login.")
	w.shows(w.gitHub, commit(3), "in_progress", "failure")
	w.failsWith("status", oneFailed, 1)
	w.reaches("status", v1alpha1.ReasonPassed, "")
	w.shows(w.gitHub, commit(4), "pending", "success")

	w.clock.moveOn(twoDays)
	w.create(aSuite("next", 3, tests(commit(2))))
	w.failsWith("next", oneFailed, 1)
	w.reaches("next", v1alpha1.ReasonFailed, `The Quarantine flaky-cart has expired: since `+today+`, "shop > cart keeps items" counts again.`)
	w.shows(w.gitHub, commit(2), "in_progress", "failure")
	w.ready(q, "True", quarantine.ReasonExpired, "Since "+today+", its tests count again.")
	w.hasTitles(map[string]string{
		commit(1): "Passed, with 1 quarantined failure: 1 of 2 tests passed, 1 failed (1 quarantined)",
		commit(2): "Failed: 1 of 2 tests passed, 1 failed",
		commit(3): "Failed: 0 of 2 tests passed, 2 failed (1 quarantined)",
		commit(4): "Passed, with 1 quarantined failure: 1 of 2 tests passed, 1 failed (1 quarantined)",
	})
}

// hasTitles checks the last write of each commit.
func (w *reportWorld) hasTitles(titles map[string]string) {
	w.t.Helper()
	for sha, title := range titles {
		writes := slices.DeleteFunc(w.gitHub.Writes(), func(write codehost.Write) bool { return write.SHA != sha })
		if len(writes) == 0 || !strings.HasPrefix(writes[len(writes)-1].Description, title) {
			w.t.Errorf("%.4s: %+v", sha, writes)
		}
	}
}

// TestQuarantineOfTheStart: a run applies the Quarantines of the moment in which its Job was created, whatever becomes of them.
func TestQuarantineOfTheStart(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke", wantsResults), aTrigger("exit", wantsResults, func(t *v1alpha1.Trigger) {
		t.Spec.Results.Require = v1alpha1.RequireNothing
	}))
	w.startManager()
	q := aQuarantine("flaky-cart", time.Now().UTC().AddDate(0, 0, 5).Format(time.DateOnly), "*")
	w.create(q)
	w.ready(q, "True", quarantine.ReasonQuarantined, "the runs of all Triggers of the namespace")
	w.create(aSuite("before", 0), aSuite("exit", 1, of("exit")))
	if w.hasJob("before").Annotations[v1alpha1.AnnotationQuarantines] == "" || w.hasJob("exit").Annotations[v1alpha1.AnnotationQuarantines] != "" {
		t.Error("the Jobs do not say what they apply")
	}
	w.must(w.Client.Delete(context.Background(), q))
	w.failsWith("before", oneFailed, 1)
	w.reaches("before", v1alpha1.ReasonPassed, "with 1 quarantined failure.")
	w.create(aSuite("after", 2))
	w.eventually("a run that starts later does not apply it", func() string { return w.hasJob("after").Annotations[v1alpha1.AnnotationQuarantines] })
	w.failsWith("after", oneFailed, 1)
	w.reaches("after", v1alpha1.ReasonFailed, `Container "test" exited with code 1`)
}

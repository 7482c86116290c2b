package report_test

import (
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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
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
func collects(w *world.World, j *batchv1.Job, report string) string {
	w.T.Helper()
	tests := results.Tests{}
	for _, e := range j.Spec.Template.Spec.InitContainers[0].Env {
		if e.Name == job.CollectQuarantine {
			tests.Quarantines = quarantine.Compile(quarantine.Parse(e.Value).Rules)
		}
	}
	if !tests.Add("junit.xml", strings.NewReader(report)) {
		w.T.Fatal("it is no report")
	}
	return results.Message(tests.Summary())
}

// failsWith runs a Suite whose container exits with a code after it has written a report.
func failsWith(w *world.World, name, report string, code int32) {
	w.T.Helper()
	w.Runs(name)
	j, p := w.HasJob(name), w.PodOf(name)
	w.Status(p, func() {
		fakecluster.EndPod(p, code)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{fakecluster.ContainerStatus(job.CollectContainer, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now(), Message: collects(w, j, report)},
		})}
	})
	w.Fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// TestQuarantineOnARequiredCheck: a run in which only a quarantined test failed lets a required check pass, and does not look like
// a plain pass; once the Quarantine has expired, the same failure fails the next run.
func TestQuarantineOnARequiredCheck(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, func(w *reportWorld) {
		w.Collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
		w.Clock.MoveOn(-twoDays)
	})
	w.patchTrigger("smoke", wantsResults)
	w.patchTrigger("token", wantsResults)
	today := time.Now().UTC().Format(time.DateOnly)
	q := aQuarantine("flaky-cart", today, "smoke", "token", "misspelt")
	w.Create(q)
	w.Ready(q, "True", quarantine.ReasonQuarantined, "The namespace has no such Trigger: misspelt.")

	w.Create(build.Suite("first", 0, tests(build.Commit(1))), build.Suite("others", 1, tests(build.Commit(3))), build.Suite("status", 2, build.OfTrigger("token"), tests(build.Commit(4))))
	failsWith(w.World, "first", oneFailed, 1)
	s := w.Reaches("first", v1alpha1.ReasonPassed, "with 1 quarantined failure.")
	if r := s.Status.Results; r.Failed != 1 || r.Quarantined != 1 || r.Failures[0].Quarantine != "flaky-cart" || s.Status.DecidedBy != v1alpha1.DecidedByTests {
		t.Errorf("%+v by %s", r, s.Status.DecidedBy)
	}
	w.shows(w.gitHub, build.Commit(1), "in_progress", "neutral")
	failsWith(w.World, "others", twoFailed, 1)
	w.Reaches("others", v1alpha1.ReasonFailed, "2 of 2 tests failed, 1 of them quarantined, the first: shop > login.")
	w.shows(w.gitHub, build.Commit(3), "in_progress", "failure")
	failsWith(w.World, "status", oneFailed, 1)
	w.Reaches("status", v1alpha1.ReasonPassed, "")
	w.shows(w.gitHub, build.Commit(4), "pending", "success")

	w.Clock.MoveOn(twoDays)
	w.Create(build.Suite("next", 3, tests(build.Commit(2))))
	failsWith(w.World, "next", oneFailed, 1)
	w.Reaches("next", v1alpha1.ReasonFailed, `The Quarantine flaky-cart has expired: since `+today+`, "shop > cart keeps items" counts again.`)
	w.shows(w.gitHub, build.Commit(2), "in_progress", "failure")
	w.Ready(q, "True", quarantine.ReasonExpired, "Since "+today+", its tests count again.")
	w.hasTitles(map[string]string{
		build.Commit(1): "Passed: 1 of 2 tests failed, quarantined",
		build.Commit(2): "Failed: 1 of 2 tests failed",
		build.Commit(3): "Failed: 2 of 2 tests failed, 1 of them quarantined",
		build.Commit(4): "Passed: 1 of 2 tests failed, quarantined",
	})
}

// hasTitles checks the last write of each commit.
func (w *reportWorld) hasTitles(titles map[string]string) {
	w.T.Helper()
	for sha, title := range titles {
		writes := slices.DeleteFunc(w.gitHub.Writes(), func(write codehost.Write) bool { return write.SHA != sha })
		if len(writes) == 0 || !strings.HasPrefix(writes[len(writes)-1].Description, title) {
			w.T.Errorf("%.4s: %+v", sha, writes)
		}
	}
}

// TestQuarantineOfTheStart: a run applies the Quarantines of the moment in which its Job was created, whatever becomes of them.
func TestQuarantineOfTheStart(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.Collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke", wantsResults), build.Trigger("exit", wantsResults, func(t *v1alpha1.Trigger) {
		t.Spec.Results.Require = v1alpha1.RequireNothing
	}))
	w.StartManager()
	q := aQuarantine("flaky-cart", time.Now().UTC().AddDate(0, 0, 5).Format(time.DateOnly), "*")
	w.Create(q)
	w.Ready(q, "True", quarantine.ReasonQuarantined, "the runs of all Triggers of the namespace")
	w.Create(build.Suite("before", 0), build.Suite("exit", 1, build.OfTrigger("exit")))
	if w.HasJob("before").Annotations[v1alpha1.AnnotationQuarantines] == "" || w.HasJob("exit").Annotations[v1alpha1.AnnotationQuarantines] != "" {
		t.Error("the Jobs do not say what they apply")
	}
	w.Delete(q)
	failsWith(w, "before", oneFailed, 1)
	w.Reaches("before", v1alpha1.ReasonPassed, "with 1 quarantined failure.")
	w.Create(build.Suite("after", 2))
	w.Eventually("a run that starts later does not apply it", func() string { return w.HasJob("after").Annotations[v1alpha1.AnnotationQuarantines] })
	failsWith(w, "after", oneFailed, 1)
	w.Reaches("after", v1alpha1.ReasonFailed, `Container "test" exited with code 1`)
}

package announce_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

// report is what the tests of a run write: cart and login pass or fail.
type report struct{ results.Tests }

func (w *announceWorld) reports(failed ...string) *report {
	w.T.Helper()
	var xml strings.Builder
	for _, name := range []string{"cart", "login"} {
		failure := ""
		if slices.Contains(failed, name) {
			failure = `<failure message="timeout"/>`
		}
		fmt.Fprintf(&xml, `<testcase name="%s">%s</testcase>`, name, failure)
	}
	r := &report{}
	if !r.Add("junit.xml", strings.NewReader("<testsuite>"+xml.String()+"</testsuite>")) {
		w.T.Fatal("it is no report")
	}
	return r
}

// after compares a report with that of an earlier run, as the collector does.
func (r *report) after(run string, before *report) *report {
	r.Compare(run, []results.Document{{Run: run, Counts: before.Counts, Failures: before.Failures}})
	return r
}

// ends a run that has written a report.
func (w *announceWorld) ends(name string, r *report) {
	w.T.Helper()
	p, code := w.PodOf(name), min(r.Counts.Failed, 1)
	w.Status(p, func() {
		fakecluster.EndPod(p, code)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{fakecluster.ContainerStatus(job.CollectContainer, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now(), Message: results.Message(r.Summary())},
		})}
	})
	if code == 0 {
		w.Passes(name)
		return
	}
	w.Fails(name, "BackoffLimitExceeded")
}

// TestNewFailuresOnly: the chat hears of a test once, however often it fails, and of each other one that begins to fail, also
// if another leader has to tell it.
func TestNewFailuresOnly(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t)
	w.Stop()
	w.Collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
	w.StartManager()
	w.Change(build.Trigger("smoke"), func(o client.Object) {
		s := &o.(*v1alpha1.Trigger).Spec
		s.Results, s.Notify.Slack.When = &v1alpha1.Results{}, []v1alpha1.NotifyWhen{v1alpha1.NotifyNewFailure, v1alpha1.NotifyRecovery}
	})
	w.Start(build.Suite("first", 0))
	first := w.reports("login")
	w.ends("first", first)
	w.notified("first", v1alpha1.ReasonDelivered, "Slack")
	w.Start(build.Suite("same", 1))
	same := w.reports("login").after("first", first)
	w.ends("same", same)
	w.notified("same", v1alpha1.ReasonDelivered, "told to: webhook events.")
	w.Start(build.Suite("more", 2))
	w.hears("more", "queued", "started")
	w.remembers("more", v1alpha1.EventStarted)
	w.Stop()
	w.ends("more", w.reports("cart", "login").after("same", same))
	w.StartManager()
	w.notified("more", v1alpha1.ReasonDelivered, "Slack")
	w.Start(build.Suite("fixed", 3))
	w.ends("fixed", w.reports())
	w.notified("fixed", v1alpha1.ReasonDelivered, "Slack")
	w.Stop()
	w.StartManager()
	w.chatHears("1 of 2 tests failed", "2 of 2 tests failed, 1 of them new", "recovered")
	for _, text := range w.hook.said() {
		if strings.Contains(text, "2 of 2") && (!strings.Contains(text, "New: `cart`") || strings.Contains(text, "`login`")) {
			t.Errorf("the second message is %q", text)
		}
	}
}

// TestWebhookOfWhatIsNew: a webhook with when gets the ends that a chat would, also if the run before was deleted and no Trigger has a chat.
func TestWebhookOfWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t, func(t *v1alpha1.Team) {
		t.Spec.Webhooks[0].When = []v1alpha1.NotifyWhen{v1alpha1.NotifyNewFailure, v1alpha1.NotifyRecovery}
	})
	w.Change(build.Trigger("smoke"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Notify = nil })
	w.Start(build.Suite("fails", 0))
	w.Exits("fails", 1)
	w.hears("fails", "failed")
	w.Start(build.Suite("same", 1))
	w.Exits("same", 1)
	w.notified("same", v1alpha1.ReasonNothingToSend, "")
	smoke := build.Trigger("smoke")
	w.Await("the Trigger remembers it", smoke, func() bool {
		return len(smoke.Status.Outcomes) == 1 && smoke.Status.Outcomes[0].Suite == "same"
	})
	for _, name := range []string{"fails", "same"} {
		w.Delete(build.Suite(name, 0))
		w.Gone(&v1alpha1.Suite{}, name)
	}
	w.Start(build.Suite("passes", 2))
	w.Passes("passes")
	w.hears("passes", "passed")
}

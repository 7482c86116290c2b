package suite_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestFirstStatus: a burst creates its Jobs without a status each; the first status is that with which Kubernetes takes up the
// Job.
func TestFirstStatus(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.UntouchedFor = time.Hour
	w.HasTeam()
	w.Create(build.Environment("staging"))
	w.Create(build.Trigger("smoke"))
	w.StartManager()
	w.Create(build.Suite("run", 0))
	j := w.HasJob("run")
	w.Create(build.Suite("next", 1))
	w.HasJob("next") // by now, a status that is written at once would be there
	if n := w.Wire.Count("PATCH suites/status"); n != 0 {
		t.Errorf("the status was written %d times before the Job changed, want never", n)
	}
	w.Status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	if s := w.Reaches("run", v1alpha1.ReasonStarting, ""); s.Status.JobName != "run" {
		t.Errorf("the status names the Job %q", s.Status.JobName)
	}
}

// TestStartTimeout: a run whose pod cannot be scheduled ends, and its message has the reason.
func TestStartTimeout(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"))
	trigger := build.Trigger("smoke")
	// Less than the 10 minutes after which a pod that is being deleted counts as lost: the API server stamps that by its own clock.
	trigger.Spec.StartTimeout = &metav1.Duration{Duration: 5 * time.Minute}
	w.Create(trigger)
	w.StartManager()
	w.Create(build.Suite("run", 0))
	j := w.HasJob("run")
	w.Status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.Pod(j, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available."}}})
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonStarting, "no node can take it")
	w.Clock.MoveOn(5 * time.Minute)
	w.Touch("run")
	w.Stopping("run")
	w.Reaches("run", v1alpha1.ReasonStarting, "Stopping the pods of this run")
	w.Stop() // the rest must not depend on the memory of the manager
	w.StartManager()
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonError, "The tests did not start within 5m, the startTimeout of the Trigger. The pod cannot start: no node can take it: 0/3 nodes are available.")
}

// TestCancelBeforeTheTestsStart: nobody must look for logs and results of such a run.
func TestCancelBeforeTheTestsStart(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("run", 0))
	j := w.HasJob("run")
	w.Status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.Pod(j, corev1.PodStatus{Phase: corev1.PodPending})
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonStarting, "")
	w.Cancel("run", "")
	w.Stopping("run")
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "Canceled by setting spec.cancel")
	if s := w.Suite("run"); s.Status.StartTime != nil {
		t.Errorf("the tests have never run, but startTime is %s", s.Status.StartTime)
	}
}

// TestCancelWhileTheTestsBegin: the pods of tests that have begun are kept, though the Job does not say so yet.
func TestCancelWhileTheTestsBegin(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Clock.Stop() // the manager does not look at the pods of a Job that is new
	w.Create(build.Suite("run", 0))
	j := w.HasJob("run")
	w.Pod(j, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "test", Image: "test", ImageID: "test", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}})
	w.Status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.Reaches("run", v1alpha1.ReasonStarting, "")
	w.Cancel("run", "")
	w.Eventually("the pods are told to stop", func() string {
		now := &batchv1.Job{}
		w.Must(w.Client.Get(t.Context(), w.Key("run"), now))
		if now.DeletionTimestamp != nil {
			t.Fatal("the Job is deleted, and with it the pods and their logs")
		}
		if now.Annotations[v1alpha1.AnnotationStopRequested] == "" {
			return "they are not"
		}
		return ""
	})
}

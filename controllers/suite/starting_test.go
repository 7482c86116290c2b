package controllers_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestFirstStatus: a burst creates its Jobs without a status each; the first status is that with which Kubernetes takes up the
// Job.
func TestFirstStatus(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.late = time.Hour
	w.hasTeam()
	w.create(anEnvironment("staging"))
	w.create(aTrigger("smoke"))
	w.startManager()
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.create(aSuite("next", 1))
	w.hasJob("next") // by now, a status that is written at once would be there
	if n := w.wire.count("PATCH suites/status"); n != 0 {
		t.Errorf("the status was written %d times before the Job changed, want never", n)
	}
	w.status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	if s := w.reaches("run", v1alpha1.ReasonStarting, ""); s.Status.JobName != "run" {
		t.Errorf("the status names the Job %q", s.Status.JobName)
	}
}

// TestStartTimeout: a run whose pod cannot be scheduled ends, and its message has the reason.
func TestStartTimeout(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"))
	trigger := aTrigger("smoke")
	// Less than the 10 minutes after which a pod that is being deleted counts as lost: the API server stamps that by its own clock.
	trigger.Spec.StartTimeout = &metav1.Duration{Duration: 5 * time.Minute}
	w.create(trigger)
	w.startManager()
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.pod(j, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available."}}})
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonStarting, "no node can take it")
	w.clock.moveOn(5 * time.Minute)
	w.touch("run")
	w.stopping("run")
	w.reaches("run", v1alpha1.ReasonStarting, "Stopping the pods of this run")
	w.stop() // the rest must not depend on the memory of the manager
	w.startManager()
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonError, "The tests did not start within 5m, the startTimeout of the Trigger. The pod cannot start: no node can take it: 0/3 nodes are available.")
}

// TestCancelBeforeTheTestsStart: nobody must look for logs and results of such a run.
func TestCancelBeforeTheTestsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.pod(j, corev1.PodStatus{Phase: corev1.PodPending})
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonStarting, "")
	w.cancel("run", "")
	w.stopping("run")
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonCanceled, "Canceled by setting spec.cancel")
	s := &v1alpha1.Suite{}
	w.must(w.Client.Get(t.Context(), w.key("run"), s))
	if s.Status.StartTime != nil {
		t.Errorf("the tests have never run, but startTime is %s", s.Status.StartTime)
	}
}

// TestCancelWhileTheTestsBegin: the pods of tests that have begun are kept, though the Job does not say so yet.
func TestCancelWhileTheTestsBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.stop() // the manager does not look at the pods of a Job that is new
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.pod(j, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "test", Image: "test", ImageID: "test", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}})
	w.status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.reaches("run", v1alpha1.ReasonStarting, "")
	w.cancel("run", "")
	w.eventually("the pods are told to stop", func() string {
		now := &batchv1.Job{}
		w.must(w.Client.Get(t.Context(), w.key("run"), now))
		if now.DeletionTimestamp != nil {
			t.Fatal("the Job is deleted, and with it the pods and their logs")
		}
		if now.Annotations[v1alpha1.AnnotationStopRequested] == "" {
			return "they are not"
		}
		return ""
	})
}

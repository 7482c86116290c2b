package controllers_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestPodRefused: Kubernetes warns repeatedly that it cannot create the pod. The message of the run says so, does
// not change with each warning, and keeps the reason when the run ends.
func TestPodRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.reaches("run", v1alpha1.ReasonStarting, "Waiting for the pod to be created")
	const message = "The pod cannot start: exceeded quota: pods, requested: pods=1"
	written := 0
	for i := range 3 {
		w.warn(j, i, fmt.Sprintf(`Error creating: pods "run-%05d" is forbidden: exceeded quota: pods, requested: pods=1`, i))
		w.clock.moveOn(10 * time.Second)
		w.touch("run")
		w.eventually("the manager to read the events again", func() string {
			if reads := w.wire.count("GET events"); reads <= i {
				return fmt.Sprintf("it read them %d times", reads)
			}
			return ""
		})
		w.reaches("run", v1alpha1.ReasonStarting, message)
		if i == 0 {
			written = w.wire.count("PATCH suites/status")
		}
	}
	slow := w.wire.countLost("GET events") // each of which changes the message, and the next one changes it back
	if more := w.wire.count("PATCH suites/status") - written; more > 2*slow {
		t.Errorf("the status was written %d more times with the same message", more)
	}
	w.expires("run")
	w.reaches("run", v1alpha1.ReasonTimedOut, message)
}

// warn creates an event, as the Job controller does.
func (w *world) warn(j *batchv1.Job, i int, note string) {
	w.t.Helper()
	at := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
	w.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", j.Name, i)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedCreate", Message: note,
		FirstTimestamp: at, LastTimestamp: at,
	})
}

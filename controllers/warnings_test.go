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

// TestPodRefused has Kubernetes warn of a pod that it does not create, again and again: the run says so,
// in words that stay the same, and still says so when it ends.
func TestPodRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.reaches("run", v1alpha1.ReasonStarting, "Waiting for the pod to be created")
	const words = "The pod cannot start: exceeded quota: pods, requested: pods=1"
	written := 0
	for i := range 3 {
		w.warned(j, i, fmt.Sprintf(`Error creating: pods "run-%05d" is forbidden: exceeded quota: pods, requested: pods=1`, i))
		w.clock.moveOn(10 * time.Second)
		w.touch("run")
		w.eventually("the manager asks for the events again", func() string {
			if asked := w.wire.count("GET events"); asked <= i {
				return fmt.Sprintf("it asked %d times", asked)
			}
			return ""
		})
		w.reaches("run", v1alpha1.ReasonStarting, words)
		if i == 0 {
			written = w.wire.count("PATCH suites/status")
		}
	}
	if more := w.wire.count("PATCH suites/status") - written; more != 0 {
		t.Errorf("the status was written %d times more to say the same", more)
	}
	w.expires("run")
	w.reaches("run", v1alpha1.ReasonTimedOut, words)
}

// warned is what the Job controller does.
func (w *world) warned(j *batchv1.Job, i int, note string) {
	w.t.Helper()
	at := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
	w.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", j.Name, i)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedCreate", Message: note,
		FirstTimestamp: at, LastTimestamp: at,
	})
}

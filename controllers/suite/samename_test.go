package suite_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestJobOfAnEarlierSuiteInTheWay: a run that is deleted and notified again starts when the garbage collector has
// deleted the Job of the earlier one.
func TestJobOfAnEarlierSuiteInTheWay(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("run", 0))
	earlier := w.HasJob("run")
	w.Must(w.Client.Delete(context.Background(), aSuiteNamed(w, "run")))
	w.Gone(&v1alpha1.Suite{}, "run")
	w.Create(build.Suite("run", 1))
	w.Reaches("run", v1alpha1.ReasonQueued, "Waiting for the Job of an earlier Suite of this name to be deleted.")
	if left := w.HasJob("run"); left.UID != earlier.UID || left.DeletionTimestamp != nil {
		t.Error("the Job of the earlier Suite was touched")
	}
	w.Must(w.Client.Delete(context.Background(), earlier, client.PropagationPolicy("Background")))
	w.Runs("run")
}

// TestPodsOfAnEarlierJob: such pods have the label with the Job's name, but do not affect the outcome of the run.
func TestPodsOfAnEarlierJob(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	earlier := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "earlier", Labels: map[string]string{batchv1.JobNameLabel: "run"}},
		Spec:       build.Trigger("smoke").Spec.JobTemplate.Spec.Template.Spec,
	}
	w.Create(earlier)
	w.Status(earlier, func() {
		earlier.Status.Phase = corev1.PodFailed
		earlier.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "test", Image: "test", ImageID: "test",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 66, FinishedAt: metav1.Now()}}}}
	})
	w.Create(build.Suite("run", 0))
	w.Ends("run", func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	w.Reaches("run", v1alpha1.ReasonError, "The pod was deleted before its end was seen")
}

package outcome

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

func isSuspended(j *batchv1.Job) {
	j.Spec.Suspend = new(true)
	with(batchv1.JobSuspended, "JobSuspended", "")(j)
}

func TestSuspendedJob(t *testing.T) {
	cases := map[string]struct {
		reason   string
		job      *batchv1.Job
		recorded metav1.Condition
		want     string
	}{
		"in a queue": {
			reason: "The message names the queue.",
			job:    newJob(isSuspended, func(j *batchv1.Job) { j.Labels = map[string]string{job.QueueLabel: "tests"} }),
			want:   `Queued: Waiting in the queue "tests" of Kueue, which starts the Job when it has room: kubectl describe job -n acme smoke-1`,
		},
		"without a queue": {
			reason: "Another system, or a person, suspended it.",
			job:    newJob(isSuspended),
			want:   "Queued: The Job is suspended, and starts when its owner, such as a queueing system, resumes it: kubectl describe job -n acme smoke-1",
		},
		"after its tests have run": {
			reason:   "A run that was interrupted has begun, and its state does not go back.",
			job:      newJob(isSuspended),
			recorded: v1alpha1.Running("They run."),
			want:     "Running: The Job is suspended, and starts when its owner, such as a queueing system, resumes it: kubectl describe job -n acme smoke-1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Observe(tc.job, nil).KeepRunning(tc.recorded).Condition
			if diff := cmp.Diff(tc.want, got.Reason+": "+got.Message); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

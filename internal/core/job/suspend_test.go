package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func isSuspended(j *batchv1.Job) {
	j.Spec.Suspend = new(true)
	with(batchv1.JobSuspended, "JobSuspended", "")(j)
}

func TestInitialSuspend(t *testing.T) {
	cases := map[string]struct {
		reason string
		queue  string
		own    *bool
		want   *bool
	}{
		"suspended, with a queue":      {"Kueue resumes the Job.", "tests", new(true), new(true)},
		"suspended, without a queue":   {"Nobody would resume it.", "", new(true), nil},
		"not suspended, with a queue":  {"Kueue suspends the Job itself.", "tests", nil, nil},
		"explicitly not, with a queue": {"Kueue suspends the Job itself.", "tests", new(false), new(false)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trigger := newTrigger(func(t *v1alpha1.Trigger) {
				t.Spec.JobTemplate.Spec.Suspend = tc.own
				if tc.queue != "" {
					t.Spec.JobTemplate.Labels = map[string]string{QueueLabel: tc.queue}
				}
			})
			if diff := cmp.Diff(tc.want, Build(newSuite(), trigger, newEnvironment()).Spec.Suspend); diff != "" {
				t.Errorf("%s suspend: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
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
			job:    newJob(isSuspended, func(j *batchv1.Job) { j.Labels = map[string]string{QueueLabel: "tests"} }),
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

package outcome

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func elsewhere(j *batchv1.Job) { j.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }

// judgedBy gives a Job what spec.results of its Trigger does.
func judgedBy(policy v1alpha1.ResultsRequirement) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		keepsResults(j)
		require(j, results.Requirement{Policy: policy})
	}
}

// TestElsewhere: of a Job in another cluster, there are no pods, and its status alone decides.
func TestElsewhere(t *testing.T) {
	const noResults = "no test results come back from there. Set results.require of the Trigger to Nothing"
	suspendedAgain := with(batchv1.JobSuspended, "JobSuspended", "")
	for name, tc := range map[string]struct {
		reason      string
		change      []func(*batchv1.Job)
		want        string
		message     string
		decided     v1alpha1.DecidedBy
		interrupted bool
	}{
		"starting": {reason: "Its pod is not ready.", change: []func(*batchv1.Job){func(j *batchv1.Job) { j.Status.Active = 1 }},
			want: v1alpha1.ReasonStarting, message: "The pod is starting in another cluster"},
		"running": {reason: "The log commands of this cluster would find nothing.", change: []func(*batchv1.Job){active(1)},
			want: v1alpha1.ReasonRunning, message: "The tests are running in another cluster, by MultiKueue, and only that has their log. " +
				"Its name: kubectl get workloads -n acme -l kueue.x-k8s.io/job-uid=uid"},
		"passed": {reason: "No pod here is missing.", change: []func(*batchv1.Job){complete},
			want: v1alpha1.ReasonPassed, decided: v1alpha1.DecidedByExitCode,
			message: "The tests passed in 41s (exit code only). They ran in another cluster by MultiKueue, so there is no log"},
		"passed, results do not count": {reason: "The exit code alone decides.", change: []func(*batchv1.Job){complete, judgedBy(v1alpha1.RequireNothing)},
			want: v1alpha1.ReasonPassed, decided: v1alpha1.DecidedByExitCode},
		"tests are required": {reason: "Nothing shows that a test ran.", change: []func(*batchv1.Job){complete, judgedBy(v1alpha1.RequireTests)},
			want: v1alpha1.ReasonError, message: noResults},
		"a report is required": {reason: "Nothing shows that there is one.", change: []func(*batchv1.Job){complete, judgedBy(v1alpha1.RequireReport)},
			want: v1alpha1.ReasonError, message: noResults},
		"no pod succeeded": {reason: "Nothing was tested.", change: []func(*batchv1.Job){complete, func(j *batchv1.Job) { j.Status.Succeeded = 0 }},
			want: v1alpha1.ReasonError, message: "nothing was tested"},
		"stopped, and exited with 0": {reason: "Kueue preempted it there.", change: []func(*batchv1.Job){suspendedAgain, complete},
			want: v1alpha1.ReasonError, message: "Kueue suspended the Job in another cluster", interrupted: true},
		"failed": {reason: "A lost pod and a failed test look the same, and a retry could hide the latter.", change: []func(*batchv1.Job){backoffExceeded},
			want: v1alpha1.ReasonFailed, decided: v1alpha1.DecidedByExitCode,
			message: "Job has reached the specified backoff limit. It ran in another cluster by MultiKueue, and only its log there says"},
		"too late": {reason: "The deadline of the Job ended it.", change: []func(*batchv1.Job){deadlineExceeded}, want: v1alpha1.ReasonTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(append([]func(*batchv1.Job){elsewhere, func(j *batchv1.Job) { j.UID = "uid" }}, tc.change...)...)
			for as, j := range map[string]*batchv1.Job{"read": j, "cached": StripJob(j)} {
				got := Observe(j, nil)
				if got.Condition.Reason != tc.want || !strings.Contains(got.Condition.Message, tc.message) ||
					got.DecidedBy != tc.decided || got.Interrupted != tc.interrupted {
					t.Errorf("%s: %s %+v", as, tc.reason, got)
				}
			}
		})
	}
}

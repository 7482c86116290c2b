package outcome

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestShardWithoutFiles: it left an empty report, and passes beside a shard that has tests. If all are empty, nothing was tested.
func TestShardWithoutFiles(t *testing.T) {
	empty := collects(exitFor("Completed", 0, 50, results.Message(results.Summary{Counts: results.Counts{Reports: 1}})))
	for name, tc := range map[string]struct {
		second  func(*corev1.Pod)
		problem string
	}{
		"beside tests": {reports(0), ""},
		"alone":        {empty, "its reports list no tests"},
	} {
		c := Collect([]corev1.Pod{
			newPod(corev1.PodSucceeded, named("a"), index("0"), passes, empty),
			newPod(corev1.PodSucceeded, named("b"), index("1"), passes, tc.second),
		})
		if got := c.Judge(results.Requirement{}); !strings.HasPrefix(got.Problem, tc.problem) || (got.Problem == "") != (tc.problem == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSuccessPolicy: Kubernetes completes the Job when the first index has succeeded, and stops the other one.
func TestSuccessPolicy(t *testing.T) {
	policy := func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(2)), new(int32(2))
		j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0")}}}
	}
	stopped := func(code int32, report func(*corev1.Pod)) *corev1.Pod {
		return new(newPod(corev1.PodFailed, named("b"), index("1"), deleted(20), container("test", exit(code, 30, "")), report))
	}
	exitCodes := requires(v1alpha1.RequireNothing)
	for name, tc := range map[string]struct {
		reason string
		second *corev1.Pod
		change func(*batchv1.Job)
		state  string
	}{
		"stopped before it reported": {"its tests may have failed", stopped(137, collects(exit(137, 31, ""))), nil, "Failed"},
		"stopped with a report":      {"it may not have run all tests", stopped(143, reports(0)), nil, "Failed"},
		"not begun":                  {"what is missing has not passed", nil, nil, "Failed"},
		"succeeded":                  {"all of it ran", new(newPod(corev1.PodSucceeded, named("b"), index("1"), passes, reports(0))), nil, "Passed"},
		"exit codes decide":          {"the Trigger asks for no reports, and leaves it to the Job", nil, exitCodes, "Passed"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(complete, keepsResults, policy)
			pods := []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), index("0"), passes, reports(0))}
			if tc.second != nil {
				pods = append(pods, *tc.second)
			}
			if tc.second != nil && tc.second.Status.Phase == corev1.PodSucceeded {
				j.Status.Succeeded = 2
			}
			if tc.change != nil {
				tc.change(j)
			}
			for _, j := range []*batchv1.Job{j, StripJob(j)} {
				if got := Observe(j, pods); got.Condition.Reason != tc.state {
					t.Errorf("%s: %s by %s: %s", tc.reason, got.Condition.Reason, got.DecidedBy, got.Condition.Message)
				}
			}
		})
	}
}

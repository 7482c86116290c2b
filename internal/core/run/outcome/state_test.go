package outcome

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const logHint = ". Its log says more: postflight runs logs smoke-1 -n acme -c test, or kubectl logs -n acme smoke-1-x -c test"

var outcomeOfAnEndedJobCases = map[string]struct {
	reason string
	job    *batchv1.Job
	pods   []corev1.Pod
	want   metav1.Condition
}{
	"Passed": {
		reason: "A Job that is complete is a run that passed.",
		job:    newJob(complete),
		pods:   []corev1.Pod{newPod(corev1.PodSucceeded, container("test", exitFor("Completed", 0, 40, "")))},
		want:   v1alpha1.Passed("The tests passed in 41s (exit code only)."),
	},
	"PassedPodGone": {
		reason: "A drained pod is gone at once, and its Job may count it as succeeded.",
		job:    newJob(complete),
		want: v1alpha1.Error("The pod that exited with 0 is gone: evicted, drained or deleted. Nothing shows that all its tests ran. " +
			"Notify again, or create another Suite, to repeat the run."),
	},
	"NoPodSucceeded": {
		reason: "A Job of no completions is complete at once, and nothing was tested.",
		job:    newJob(complete, func(j *batchv1.Job) { j.Status.Succeeded = 0 }),
		want:   v1alpha1.Error("The Job completed without a pod that succeeded, so nothing was tested. Check completions in the jobTemplate of the Trigger, and notify again."),
	},
	"PassedWithSummary": {
		reason: "Tests may say in their termination log what they did.",
		job:    newJob(complete),
		pods:   []corev1.Pod{newPod(corev1.PodSucceeded, container("test", exitFor("Completed", 0, 40, "12 checks\n")))},
		want:   v1alpha1.Passed("The tests passed in 41s (exit code only): 12 checks"),
	},
	"PassedAtLast": {
		reason: "A pod that failed before is not the one to quote.",
		job:    newJob(complete),
		pods: []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), container("test", exit(1, 10, "broken"))),
			newPod(corev1.PodSucceeded, named("b"), container("test", exitFor("Completed", 0, 40, "12 checks"))),
		},
		want: v1alpha1.Passed("The tests passed in 41s (exit code only): 12 checks"),
	},
	"Deadline": {
		reason: "The pods are gone when a Job has run out of time.",
		job:    newJob(deadlineExceeded),
		want:   v1alpha1.TimedOut("The run took longer than its timeout of 30m and was stopped."),
	},
	"DeadlineWithPod": {
		reason: "How a container ends that is killed says nothing about the tests.",
		job:    newJob(deadlineExceeded),
		pods:   []corev1.Pod{newPod(corev1.PodFailed, deleted(1800), container("test", exit(137, 1830, "")))},
		want:   v1alpha1.TimedOut("The run took longer than its timeout of 30m and was stopped."),
	},
	"PodDeadline": {
		reason: "A template may bound the pod too.",
		job:    newJob(backoffExceeded),
		pods:   []corev1.Pod{newPod(corev1.PodFailed, podReason("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"))},
		want:   v1alpha1.TimedOut("The pod took longer than the activeDeadlineSeconds of its own in the jobTemplate, and was stopped."),
	},
	"PodGone": {
		reason: "It is unknown whether the tests of a deleted pod failed.",
		job:    newJob(backoffExceeded),
		want:   v1alpha1.Error("The pod was deleted before its end was seen: by hand, by a drain, or with its node. Notify again, or create another Suite, to repeat the run."),
	},
	"RestartedPodGone": {
		reason: "Where containers restart in place, Kubernetes itself deletes the pod whose tests failed.",
		job:    newJob(backoffExceeded, onFailure),
		want:   v1alpha1.Failed("Job has reached the specified backoff limit. Its pods are gone, and their logs with them; a restartPolicy of Never keeps them."),
	},
	"PodSucceeded": {
		reason: "A pod that succeeded does not explain why the Job failed, even if it was restarted before.",
		job:    newJob(backoffExceeded, onFailure),
		pods:   []corev1.Pod{newPod(corev1.PodSucceeded, deleted(60), container("test", exitFor("Completed", 0, 20, "")), restarting)},
		want:   v1alpha1.Failed("Job has reached the specified backoff limit. Its pods are gone, and their logs with them; a restartPolicy of Never keeps them."),
	},
	"PodFailurePolicyPodGone": {
		reason: "The condition of the Job has the reason of a failure policy.",
		job:    newJob(with(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container test for pod acme/smoke-1-x failed with exit code 42 matching FailJob rule at index 0")),
		want:   v1alpha1.Failed("Container test for pod acme/smoke-1-x failed with exit code 42 matching FailJob rule at index 0. Its pods are gone, and their logs with them; a restartPolicy of Never keeps them."),
	},
	"LastAttempt": {
		reason: "Of several attempts the last one counts, in whatever order they are listed.",
		job:    newJob(backoffExceeded, func(j *batchv1.Job) { j.Status.Failed = 3 }),
		pods: []corev1.Pod{
			newPod(corev1.PodFailed, named("c"), container("test", exit(2, 20, "second"))),
			newPod(corev1.PodFailed, named("a"), container("test", exit(3, 30, "third"))),
			newPod(corev1.PodFailed, named("b"), container("test", exit(1, 10, "first"))),
		},
		want: v1alpha1.Failed(`Container "test" exited with code 3 in the last of 3 pods that failed: third`),
	},
	"FailedIndexes": {
		reason: "An indexed Job says which of its pods failed.",
		job:    newJob(with(batchv1.JobFailed, batchv1.JobReasonMaxFailedIndexesExceeded, ""), func(j *batchv1.Job) { j.Status.FailedIndexes = new("1,3-5") }),
		pods:   []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(7, 9, "no")))},
		want:   v1alpha1.Failed(`Container "test" exited with code 7 (failed indexes: 1,3-5): no`),
	},
	"Shards": {
		reason: "Each shard runs to its end.",
		job: newJob(with(batchv1.JobFailed, batchv1.JobReasonFailedIndexes, ""), shardsOf(4), func(j *batchv1.Job) {
			j.Status.FailedIndexes, j.Status.Succeeded = new("1,3"), 2
		}),
		pods: []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), index("0"), container("test", exit(7, 5, "not yet"))), // and was repeated
			newPod(corev1.PodFailed, named("b"), index("1"), container("test", exit(7, 6, "no"))),
			newPod(corev1.PodFailed, named("c"), index("3"), container("test", exit(7, 9, "no"))),
		},
		want: v1alpha1.Failed(`2 of 4 shards failed. Container "test" exited with code 7 (failed indexes: 1,3): no`),
	},
	"StoppedShards": {
		reason: "The template says that the first failure ends the Job.",
		job:    newJob(backoffExceeded, shardsOf(4), func(j *batchv1.Job) { j.Status.Failed = 4 }),
		pods: []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), index("0"), container("test", exit(3, 10, "assertion"))),
			newPod(corev1.PodFailed, named("b"), index("1"), deleted(11), container("test", exit(143, 12, ""))),
		},
		want: v1alpha1.Failed(`1 of 4 shards failed; 3 were stopped. Container "test" exited with code 3: assertion`),
	},
	"Parallel": {
		reason: "A pod that the Job deleted because another failed ends last, and is not the cause.",
		job:    newJob(backoffExceeded),
		pods: []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), container("test", exit(3, 10, "assertion"))),
			newPod(corev1.PodFailed, named("b"), deleted(11), container("test", exit(143, 12, ""))),
			newPod(corev1.PodSucceeded, named("c"), container("test", exitFor("Completed", 0, 20, ""))),
		},
		want: v1alpha1.Failed(`Container "test" exited with code 3: assertion`),
	},
}

func TestOutcomeOfAnEndedJob(t *testing.T) {
	for name, tc := range outcomeOfAnEndedJobCases {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(tc.pods)
			got := written(Observe(tc.job, tc.pods))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	cases := map[string]struct {
		reason    string
		job       *batchv1.Job
		start     *metav1.Time
		completed *metav1.Time
	}{
		"New":      {reason: "Nothing has happened.", job: newJob()},
		"Stopping": {reason: "A Job has ended only when it says so.", job: newJob(with(batchv1.JobFailureTarget, "", "")), start: new(after(0))},
		"Complete": {reason: "A Job that is complete has the time.", job: newJob(complete), start: new(after(0)), completed: new(after(41))},
		"Failed":   {reason: "One that failed has only that of its condition.", job: newJob(backoffExceeded), start: new(after(0)), completed: new(after(42))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]*metav1.Time{tc.start, tc.completed}, []*metav1.Time{tc.job.Status.StartTime, CompletionTime(tc.job)}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKeepProblem(t *testing.T) {
	const blocked, restarted = "The pod cannot start: no image.", "It last exited with code 5: broken"
	job := func(change ...func(*batchv1.Job)) State { return Observe(newJob(change...), nil) }
	cases := map[string]struct {
		reason string
		now    State
		before string // the problem that the status records
		want   string
		keeps  string
	}{
		"TimedOut": {
			reason: "The message about a timeout also says what took so long.",
			now:    job(deadlineExceeded), before: blocked,
			want:  "The run took longer than its timeout of 30m and was stopped. The pod cannot start: no image.",
			keeps: blocked,
		},
		"Stopping": {
			reason: "The problem must survive other messages in between.",
			now:    job(with(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "")), before: blocked,
			want:  "The run took longer than its timeout of 30m; its pods are stopping. The pod cannot start: no image.",
			keeps: blocked,
		},
		"StoppingRestarted": {
			reason: "The pod that restarted its container is gone before the Job has failed.",
			now:    job(with(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, "")), before: restarted,
			want:  "The run did not pass; its pods are stopping. It last exited with code 5: broken",
			keeps: restarted,
		},
		"PodGoesFirst": {
			reason: "The pod of a run that is stopped may be seen to go before the Job says that it failed.",
			now:    job(active(0)), before: blocked,
			want:  "The pod is starting. The pod cannot start: no image.",
			keeps: blocked,
		},
		"Restarted": {
			reason: "The exit code of a pod that is gone.",
			now:    job(backoffExceeded, onFailure), before: restarted,
			want:  "Job has reached the specified backoff limit. Its pods are gone, and their logs with them; a restartPolicy of Never keeps them. It last exited with code 5: broken",
			keeps: restarted,
		},
		"Started": {
			reason: "A pod that could start at last is no reason.",
			now:    job(deadlineExceeded),
			want:   "The run took longer than its timeout of 30m and was stopped.",
		},
		"Running": {
			reason: "A pod that runs has no problem any more, and its container may restart later.",
			now:    job(active(1)), before: blocked,
			want: "The tests are running. Follow them: postflight runs logs smoke-1 -n acme -f, or kubectl logs -n acme job/smoke-1 -f",
		},
		"NewProblem": {
			reason: "What the pod says now counts.",
			now:    cannotStart("no node."), before: blocked,
			want:  "The pod cannot start: no node.",
			keeps: "The pod cannot start: no node.",
		},
		"Passed": {
			reason: "What went well needs no explanation.",
			now:    Observe(newJob(complete), []corev1.Pod{newPod(corev1.PodSucceeded)}), before: blocked,
			want: "The tests passed in 41s (exit code only).",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.now.KeepProblem(tc.before)
			want := tc.now.Condition
			want.Message = tc.want
			if diff := cmp.Diff(want, got.Condition); diff != "" {
				t.Errorf("%s\nKeepProblem(...): -want, +got:\n%s", tc.reason, diff)
			}
			if got.PodProblem != tc.keeps {
				t.Errorf("%s: the problem is %q, want %q", tc.reason, got.PodProblem, tc.keeps)
			}
		})
	}
}

func shardsOf(n int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), &n
	}
}

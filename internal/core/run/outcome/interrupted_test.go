package outcome

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// TestInterrupted: what the cluster did to a run is told from what its tests or their configuration did.
func TestInterrupted(t *testing.T) {
	evicted := podReason("Evicted", "The node was low on resource: memory.")
	inTermination := func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }
	results := func(j *batchv1.Job) {
		j.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
	}
	collectorOf := func(state corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			sidecar(job.CollectContainer, state)(p)
			p.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		job    *batchv1.Job
		pods   []corev1.Pod
		state  string
		want   bool
	}{
		"evicted":   {"its node had no room", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(137, 9, "")), evicted)}, v1alpha1.ReasonError, true},
		"preempted": {"another pod was more important", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(143, 9, "")), disruptionTarget("PreemptionByScheduler", ""))}, v1alpha1.ReasonError, true},
		"drained":   {"its node went", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(143, 9, "")), disruptionTarget("EvictionByEvictionAPI", ""), deleted(5))}, v1alpha1.ReasonError, true},
		"refused":   {"the kubelet had given the room away", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, podReason("OutOfcpu", ""))}, v1alpha1.ReasonError, true},
		"deleted":   {"by hand, or with its node", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(143, 9, "")), deleted(5))}, v1alpha1.ReasonError, true},
		"gone":      {"by hand, or with its node", newJob(backoffExceeded), nil, v1alpha1.ReasonError, true},
		"rebooted":  {"the kubelet lost its container", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exitFor("ContainerStatusUnknown", 137, 9, "")))}, v1alpha1.ReasonError, true},
		"lost results": {"nobody knows what the tests reported", newJob(complete, results),
			[]corev1.Pod{newPod(corev1.PodSucceeded, collectorOf(exit(137, 12, "")), container("test", exit(0, 9, "")))}, v1alpha1.ReasonError, true},
		"lost results and pod": {"nobody knows what the tests reported", newJob(complete, results), nil, v1alpha1.ReasonError, true},

		"no store": {"the operator has to configure one", newJob(complete, results), []corev1.Pod{newPod(corev1.PodSucceeded, container("test", exit(0, 9, "")), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
		})}, v1alpha1.ReasonError, false},
		"its own disk": {"the tests write too much", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, podReason("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."))},
			v1alpha1.ReasonFailed, false},
		"failed":           {"failures never", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(1, 9, "")))}, v1alpha1.ReasonFailed, false},
		"out of memory":    {"the tests need more", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exitFor("OOMKilled", 137, 9, "")))}, v1alpha1.ReasonFailed, false},
		"wrong command":    {"it would fail again", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exitFor("StartError", 128, 9, "")))}, v1alpha1.ReasonError, false},
		"no input file":    {"it would fail again", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, initContainer(job.FetchContainer, exit(1, 9, "")))}, v1alpha1.ReasonError, false},
		"wrong version":    {"it has waited for it", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, initContainer(job.ReadyContainer, exit(job.ExitNotReady, 9, "")))}, v1alpha1.ReasonError, false},
		"nothing to run":   {"completions is 0", newJob(complete, func(j *batchv1.Job) { j.Status.Succeeded = 0 }), nil, v1alpha1.ReasonError, false},
		"without a reason": {"it may be the tests", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed)}, v1alpha1.ReasonError, false},
		"a shard failed before": {"failures never", newJob(backoffExceeded),
			[]corev1.Pod{newPod(corev1.PodFailed, named("a"), container("test", exit(1, 5, ""))), newPod(corev1.PodFailed, named("b"), container("test", exit(137, 9, "")), evicted)}, v1alpha1.ReasonError, false},
		"deadline": {"the tests hang", newJob(deadlineExceeded), []corev1.Pod{newPod(corev1.PodFailed, evicted)}, v1alpha1.ReasonTimedOut, false},
		"still running": {"it may pass", newJob(), []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(137, 9, "")), evicted, inTermination)},
			v1alpha1.ReasonRunning, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Observe(tc.job, tc.pods); got.Interrupted != tc.want || got.Condition.Reason != tc.state {
				t.Errorf("%s: %t %s %q", tc.reason, got.Interrupted, got.Condition.Reason, got.Condition.Message)
			}
		})
	}
}

func TestLostToCluster(t *testing.T) {
	stuck := newPod(corev1.PodRunning, container("test", runs), deleted(5))
	failing := func(reason string) func(*batchv1.Job) { return with(batchv1.JobFailureTarget, reason, "") }
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		pods []corev1.Pod
		want bool
	}{
		"its node is gone": {newJob(), []corev1.Pod{stuck}, true},
		"the Job knows":    {newJob(failing(batchv1.JobReasonBackoffLimitExceeded)), []corev1.Pod{stuck}, true},
		"canceled": {newJob(func(j *batchv1.Job) {
			j.Annotations = map[string]string{v1alpha1.AnnotationStopRequested: "2026-11-20T18:00:00Z"}
		}), []corev1.Pod{stuck}, false},
		"its Job was deleted":   {newJob(func(j *batchv1.Job) { j.DeletionTimestamp = new(after(5)) }), []corev1.Pod{stuck}, false},
		"too late":              {newJob(failing(batchv1.JobReasonDeadlineExceeded)), []corev1.Pod{stuck}, false},
		"another shard failed":  {newJob(), []corev1.Pod{stuck, newPod(corev1.PodFailed, named("b"), container("test", exit(1, 5, "")))}, false},
		"another shard is done": {newJob(), []corev1.Pod{stuck, newPod(corev1.PodSucceeded, named("b"), container("test", exit(0, 5, "")))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LostToCluster(tc.job, tc.pods); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestUnpulled: an image that its registry does not have, or does not give, needs a person.
func TestUnpulled(t *testing.T) {
	const reference = `Back-off pulling image "r.example.com/t:1": ErrImagePull: failed to pull and unpack image "r.example.com/t:1": failed to resolve reference "r.example.com/t:1": `
	for name, tc := range map[string]struct {
		reason, message string
		want            bool
	}{
		"no connection":  {"ImagePullBackOff", reference + "dial tcp 10.0.0.1:443: connect: connection refused", true},
		"no host":        {"ErrImagePull", reference + "dial tcp: lookup r.example.com: no such host", true},
		"limited":        {"ImagePullBackOff", reference + "unexpected status from HEAD request: 429 Too Many Requests", true},
		"broken":         {"ErrImagePull", reference + "unexpected status from HEAD request: 500 Internal Server Error", true},
		"unavailable":    {"RegistryUnavailable", "", true},
		"unknown":        {"ImagePullBackOff", reference + "r.example.com/t:1: not found", false},
		"code":           {"ErrImagePull", "rpc error: code = NotFound desc = " + reference, false},
		"of CRI-O":       {"ErrImagePull", "reading manifest 1 in r.example.com/t: manifest unknown", false},
		"no credentials": {"ErrImagePull", reference + "pull access denied, repository does not exist or may require authorization", false},
		"wrong ones":     {"ErrImagePull", reference + "unexpected status: 401 Unauthorized", false},
		"no name":        {"InvalidImageName", "", false},
		"never":          {"ErrImageNeverPull", "", false},
		"no Secret":      {"CreateContainerConfigError", `secret "x" not found`, false},
		"is created":     {"ContainerCreating", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Observe(newJob(func(j *batchv1.Job) { j.Status.Active = 1 }), []corev1.Pod{newPod(corev1.PodPending, container("test", waits(tc.reason, tc.message)))})
			if got.Unpulled != tc.want {
				t.Errorf("got %t: %q", got.Unpulled, got.PodProblem)
			}
		})
	}
}

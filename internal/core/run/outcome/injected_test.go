package outcome

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// meshed adds a container to a pod whose other containers are those of the jobTemplate.
func meshed(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		j := job.Build(&v1alpha1.Suite{}, &v1alpha1.Trigger{Spec: v1alpha1.TriggerSpec{
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: p.Spec}}}}}, &v1alpha1.Environment{})
		p.Spec.Containers = slices.Concat(j.Spec.Template.Spec.Containers, []corev1.Container{{Name: "proxy"}})
		container("proxy", state)(p)
	}
}

// late is a pod that its deadline ended, so many seconds after its start.
func late(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.StartTime, p.Status.Reason, p.Spec.ActiveDeadlineSeconds = new(after(0)), batchv1.JobReasonDeadlineExceeded, &seconds
	}
}

// TestInjected: the containers of the jobTemplate decide.
func TestInjected(t *testing.T) {
	passes, fails, proxyStopped := container("test", exitFor("Completed", 0, 40, "")), container("test", exit(1, 40, "")), meshed(exit(137, 60, ""))
	const note = `The container "proxy", which is not in the jobTemplate`
	indexed := func(j *batchv1.Job) {
		shardsOf(2)(j)
		j.Spec.BackoffLimitPerIndex = new(int32(0))
		with(batchv1.JobFailed, batchv1.JobReasonFailedIndexes, "")(j)
	}
	for name, tc := range map[string]struct {
		reason string
		job    *batchv1.Job
		pods   []corev1.Pod
		want   string
		says   string
	}{
		"stopped":          {"it did not end", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, passes, proxyStopped, late(42))}, "Passed", note},
		"failed":           {"that says nothing of the tests", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, passes, meshed(exit(1, 41, "")))}, "Passed", note},
		"ended":            {"nobody needs to know", newJob(complete), []corev1.Pod{newPod(corev1.PodSucceeded, passes, meshed(exitFor("Completed", 0, 41, "")))}, "Passed", "The tests passed"},
		"failing tests":    {"the tests failed", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, fails, proxyStopped, late(42))}, "Failed", `Container "test" exited with code 1`},
		"failed first":     {"the tests failed", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, fails, meshed(exit(3, 5, "")))}, "Failed", `Container "test" exited with code 1`},
		"too late":         {"the deadline stopped the tests", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, passes, proxyStopped, late(40))}, "TimedOut", "The pod took longer"},
		"drained":          {"nobody knows whether all tests ran", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, passes, proxyStopped, deleted(39), disruptionTarget("EvictionByEvictionAPI", ""))}, "Error", "The cluster stopped the pod"},
		"killed":           {"something in the tests was killed", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", exitFor("OOMKilled", 0, 40, "")), proxyStopped, late(42))}, "Failed", "A process in the"},
		"still running":    {"nobody knows how it ended", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", runs), meshed(exit(1, 41, "")))}, "Error", `The container "proxy", which is not in the jobTemplate, failed.`},
		"shards":           {"all passed", newJob(indexed), []corev1.Pod{newPod(corev1.PodFailed, named("a"), index("0"), passes, proxyStopped, late(42)), newPod(corev1.PodFailed, named("b"), index("1"), passes, proxyStopped, late(42))}, "Passed", note},
		"one shard failed": {"its tests did", newJob(indexed), []corev1.Pod{newPod(corev1.PodFailed, named("a"), index("0"), passes, proxyStopped, late(42)), newPod(corev1.PodFailed, named("b"), index("1"), fails, proxyStopped, late(42))}, "Failed", "1 of 2 shards failed"},
		"a shard is gone":  {"nobody knows how it ended", newJob(indexed), []corev1.Pod{newPod(corev1.PodFailed, named("a"), index("0"), passes, proxyStopped, late(42))}, "Error", "So the Job gave up"},
		"the Job's policy": {"its rule is about the proxy", newJob(with(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "x")), []corev1.Pod{newPod(corev1.PodFailed, passes, proxyStopped, late(42))}, "Passed", note},
		"completions": {"nobody knows what is left", newJob(backoffExceeded, func(j *batchv1.Job) { j.Spec.Completions = new(int32(3)) }),
			[]corev1.Pod{newPod(corev1.PodFailed, passes, proxyStopped, late(42))}, "Error", "So the Job gave up before all its work was done."},
		"parallel": {"all passed", newJob(backoffExceeded, func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = new(int32(2)), new(int32(2)) }), []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), passes, proxyStopped, late(42)), newPod(corev1.PodFailed, named("b"), passes, proxyStopped, late(42))}, "Passed", note},
		"repeated": {"the last attempt counts", newJob(backoffExceeded, keepsResults), []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), passes, left(found(0, 0)), meshed(exit(1, 41, ""))),
			newPod(corev1.PodFailed, named("b"), created(51), container("test", exitFor("Completed", 0, 50, "")), left(found(0, 0)), meshed(exit(1, 50, "")))}, "Passed", note},
		"shards with results": {"all passed", newJob(indexed, keepsResults), []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), index("0"), passes, left(found(0, 0)), proxyStopped, late(42)),
			newPod(corev1.PodFailed, named("b"), index("1"), passes, left(found(0, 0)), proxyStopped, late(42))}, "Passed", note},
		"its init container": {"the tests did not begin", newJob(backoffExceeded), []corev1.Pod{newPod(corev1.PodFailed, container("test", waits("PodInitializing", "")), meshed(waits("PodInitializing", "")),
			initContainer("istio-init", exit(1, 5, "")))}, "Error", `The init container "istio-init", which is not in the jobTemplate, failed.`},
	} {
		t.Run(name, func(t *testing.T) {
			c := written(Observe(tc.job, tc.pods))
			if c.Reason != tc.want || !strings.Contains(c.Message, tc.says) {
				t.Errorf("%s: %s: %s", tc.reason, c.Reason, c.Message)
			}
		})
	}
}

// TestHeldOpen: a pod is ended just after its tests, and its Job does not repeat it.
func TestHeldOpen(t *testing.T) {
	started := func(p *corev1.Pod) {
		p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = new(after(0)), new(int64(2100))
	}
	passes, fails := container("test", exitFor("Completed", 0, 40, "")), container("test", exit(1, 40, ""))
	for name, tc := range map[string]struct {
		pods     []corev1.Pod
		held     bool
		all      int32
		deadline int64 // of the first; 0: none
		backoff  int32 // -1: none
	}{
		"only a proxy runs":        {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, meshed(runs))}, true, 1, 41, 0},
		"two pods":                 {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, meshed(runs)), newPod(corev1.PodRunning, named("b"), started, passes, meshed(runs))}, true, 2, 41, 1},
		"a proxy cannot start":     {[]corev1.Pod{newPod(corev1.PodPending, started, passes, meshed(waits("ImagePullBackOff", "no such image")))}, true, 1, 41, 0},
		"its tests failed":         {[]corev1.Pod{newPod(corev1.PodRunning, started, fails, meshed(runs))}, true, 1, 41, -1},
		"tests run":                {[]corev1.Pod{newPod(corev1.PodRunning, started, container("test", runs), meshed(runs))}, false, 1, 0, -1},
		"tests of another pod run": {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, meshed(runs)), newPod(corev1.PodRunning, named("b"), started, container("test", runs), meshed(runs))}, false, 2, 41, -1},
		"it has ended":             {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, meshed(exit(0, 41, "")))}, false, 1, 0, -1},
		"it is deleted":            {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, meshed(runs), deleted(41))}, false, 1, 0, -1},
		"of the jobTemplate":       {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, container("proxy", runs))}, false, 1, 0, -1},
		"other work is left":       {[]corev1.Pod{newPod(corev1.PodRunning, started, passes, meshed(runs)), newPod(corev1.PodRunning, named("b"), started, passes, meshed(runs))}, true, 4, 41, -1},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(func(j *batchv1.Job) {
				j.Status.Active, j.Spec.BackoffLimit, j.Spec.Completions = 1, new(int32(6)), &tc.all
			})
			if got := Observe(j, tc.pods).HeldOpen; got != tc.held {
				t.Errorf("held open: %t", got)
			}
			if got := ptr.Deref(EndDeadline(&tc.pods[0]), 0); got != tc.deadline {
				t.Errorf("deadline %d, want %d", got, tc.deadline)
			}
			if got := ptr.Deref(BackoffToEnd(j, tc.pods), -1); got != tc.backoff {
				t.Errorf("backoffLimit %d, want %d", got, tc.backoff)
			}
		})
	}
}

package outcome

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func outsideTests(p *corev1.Pod) {
	s := results.Summary{Counts: results.Counts{Reports: 1, Tests: 10, Passed: 9, Failed: 1, Outside: 1}}
	collects(exitFor("Completed", 0, 50, results.Message(s)))(p)
}

// TestOnlyTestsFailed: whatever else is wrong with a run may be why other tests did not run.
func TestOnlyTestsFailed(t *testing.T) {
	indexed := func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(2))
		j.Status.Failed = 2
	}
	failing := func(change ...func(*corev1.Pod)) []corev1.Pod {
		return []corev1.Pod{newPod(corev1.PodFailed, append([]func(*corev1.Pod){fails, reports(3)}, change...)...)}
	}
	ends := func(state corev1.ContainerState) []corev1.Pod {
		return []corev1.Pod{newPod(corev1.PodFailed, container("test", state), reports(3))}
	}
	shards := []corev1.Pod{newPod(corev1.PodFailed, named("a"), index("0"), fails, reports(2)), newPod(corev1.PodFailed, named("b"), index("1"), fails, reports(1))}
	for name, tc := range map[string]struct {
		change []func(*batchv1.Job)
		pods   []corev1.Pod
		want   bool
	}{
		"tests":                {nil, failing(), true},
		"all shards":           {[]func(*batchv1.Job){indexed}, shards, true},
		"a shard is missing":   {[]func(*batchv1.Job){indexed}, shards[:1], false},
		"others were to come":  {[]func(*batchv1.Job){func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(1)) }}, failing(), false},
		"its memory ended":     {nil, ends(exitFor("OOMKilled", 1, 9, "")), false},
		"a signal":             {nil, ends(exit(143, 9, "")), false},
		"disrupted":            {nil, failing(podReason("Evicted", "no room")), false},
		"deleted":              {nil, failing(deleted(1)), false},
		"restarted":            {nil, failing(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 }), false},
		"two containers":       {nil, failing(func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b"}) }), false},
		"no failed tests":      {nil, []corev1.Pod{newPod(corev1.PodFailed, fails, reports(0))}, false},
		"no report":            {nil, []corev1.Pod{newPod(corev1.PodFailed, fails, collects(exit(137, 50, "")))}, false},
		"a failure of a suite": {nil, []corev1.Pod{newPod(corev1.PodFailed, fails, outsideTests)}, false},
		"a work queue":         {[]func(*batchv1.Job){func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) }}, failing(), false},
		"exit codes decide": {[]func(*batchv1.Job){func(j *batchv1.Job) {
			j.Annotations = map[string]string{v1alpha1.AnnotationRequire: string(v1alpha1.RequireNothing)}
		}}, failing(), false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(append([]func(*batchv1.Job){backoffExceeded, keepsResults, func(j *batchv1.Job) { j.Status.Failed = 1 }}, tc.change...)...)
			for _, j := range []*batchv1.Job{j, StripJob(j)} { // the cache has stripped ones
				if s := Observe(j, tc.pods); s.Condition.Reason == v1alpha1.ReasonFailed && s.Collected.OnlyTests != tc.want || tc.want && s.Condition.Reason != v1alpha1.ReasonFailed {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

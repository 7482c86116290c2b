package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/failedtests"
	"github.com/postflight-dev/postflight/internal/core/results"
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

func TestWithFailed(t *testing.T) {
	tests := []results.FailedTest{{Name: "example.com/cart > TestA/$x"}}
	plan := &failedtests.Plan{Of: "r1", Ran: 9, Names: results.SetOf([]string{tests[0].Name}), Tests: tests}
	trigger := newTrigger(wantsResults, func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Annotations = map[string]string{v1alpha1.AnnotationRepeatsFailed: plan.Encode(), v1alpha1.AnnotationTestsDigest: "mine"}
	})
	built := Build(newSuite(), trigger, newEnvironment())
	if PlanOf(built) != nil || built.Annotations[v1alpha1.AnnotationTestsDigest] != "" {
		t.Error("a template says what a run repeats")
	}
	if got := WithFailed(built, nil); got != built {
		t.Error("a run of all tests has something else")
	}
	j := WithFailed(built, plan)
	for c := range Containers(&j.Spec.Template.Spec) {
		if v := kubelet(c.Env)[failedtests.GoVariable]; v != `^TestA$/^\$x$` {
			t.Errorf("%s: %q", c.Name, v)
		}
	}
	require(j, results.Requirement{MinTests: 100})
	if got := PlanOf(StripJob(j)); got == nil || got.Names != plan.Names || RequirementOf(j).MinTests != 0 {
		t.Errorf("%+v %+v", got, RequirementOf(j))
	}
}

// TestTestsDigest: attempts of one run have one, and any change of what they run another.
func TestTestsDigest(t *testing.T) {
	of := func(change ...func(*v1alpha1.Trigger)) string {
		return TestsDigest(newSuite(), newTrigger(append([]func(*v1alpha1.Trigger){wantsResults}, change...)...), newEnvironment())
	}
	again := newSuite()
	again.Name, again.UID, again.Spec.Attempt, again.Spec.OnlyFailedOf = "other", "other", 7, &v1alpha1.RunReference{Name: "x"}
	if TestsDigest(again, newTrigger(wantsResults), newEnvironment()) != of() {
		t.Error("another attempt has another digest")
	}
	environment := newEnvironment()
	environment.Spec.Variables = v1alpha1.Variables{"MORE": "1"}
	seen := map[string]string{of(): "nothing"}
	for name, digest := range map[string]string{
		"image":       of(func(t *v1alpha1.Trigger) { pod(t).Containers[0].Image = "other" }),
		"variable":    of(func(t *v1alpha1.Trigger) { t.Spec.Variables = v1alpha1.Variables{"GREP": "x"} }),
		"minTests":    of(func(t *v1alpha1.Trigger) { t.Spec.Results.MinTests = 77 }),
		"inputs":      of(func(t *v1alpha1.Trigger) { t.Spec.Inputs = &v1alpha1.Inputs{Paths: []string{"a"}} }),
		"environment": TestsDigest(newSuite(), newTrigger(wantsResults), environment),
	} {
		if other, ok := seen[digest]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[digest] = name
	}
}

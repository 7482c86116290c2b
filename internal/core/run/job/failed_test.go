package job

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func TestWithFailed(t *testing.T) {
	tests := []results.FailedTest{{Name: "example.com/cart > TestA/$x"}}
	plan := &failedtests.Plan{Of: "r1", Ran: 9, Names: results.SetOf([]string{tests[0].Name}), Tests: tests}
	trigger := newTrigger(wantsResults, func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Annotations = map[string]string{v1alpha1.AnnotationFailedPlan: plan.Encode(), v1alpha1.AnnotationTestsDigest: "mine"}
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
	if got := PlanOf(j); got == nil || got.Names != plan.Names || RequirementOf(j).MinTests != 0 {
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

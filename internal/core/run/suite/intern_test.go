package suite

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestIntern checks that a Suite stays as it is, and shares its strings with another one.
func TestIntern(t *testing.T) {
	one, other := inMemoryOfItsOwn(), inMemoryOfItsOwn()
	Intern(one)
	Intern(other)
	if diff := cmp.Diff(inMemoryOfItsOwn(), one); diff != "" {
		t.Errorf("the Suite changed: %s", diff)
	}
	texts, others := sharedTexts(one), sharedTexts(other)
	for what, text := range texts {
		if unsafe.StringData(text) != unsafe.StringData(others[what]) {
			t.Errorf("%s is not shared", what)
		}
	}
}

func inMemoryOfItsOwn() *v1alpha1.Suite {
	own := strings.Clone
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: own("acme"), Name: own("smoke-1"),
			Labels:      map[string]string{own(v1alpha1.LabelTrigger): own("smoke"), own("mine"): own("x")},
			Annotations: map[string]string{own("note"): own("y")},
		},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: own("smoke")}, Environment: own("staging"), SupersedeKey: own("main/staging"),
			Deployment: v1alpha1.Deployment{Branch: own("main"), SHA: own("cafe")},
			Variables:  v1alpha1.Variables{own("REGION"): own("eu")},
		},
		Status: v1alpha1.SuiteStatus{
			Conditions: []metav1.Condition{{Type: own(v1alpha1.ConditionSucceeded), Reason: own(v1alpha1.ReasonFailed)}},
			Results: &v1alpha1.TestResults{Tests: 1, Failed: 1, Failures: []v1alpha1.TestFailure{
				{Name: own("cart > pays"), File: own("cart.spec.ts"), Message: own("no receipt"), History: v1alpha1.FailureHistory(own("Known"))},
			}},
		},
	}
}

func sharedTexts(s *v1alpha1.Suite) map[string]string {
	texts := map[string]string{
		"namespace": s.Namespace, "trigger": s.Spec.Trigger.Name, "environment": s.Spec.Environment, "key": s.Spec.SupersedeKey,
		"branch": s.Spec.Deployment.Branch, "type": s.Status.Conditions[0].Type, "reason": s.Status.Conditions[0].Reason,
		"failed test": s.Status.Results.Failures[0].Name, "its file": s.Status.Results.Failures[0].File,
		"its history": string(s.Status.Results.Failures[0].History),
	}
	for _, m := range []map[string]string{s.Labels, s.Annotations, s.Spec.Variables} {
		for key := range m {
			texts["key "+key] = key
		}
	}
	return texts
}

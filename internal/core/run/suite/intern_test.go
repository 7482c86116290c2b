package suite

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	url := one.Spec.Deployment.CommitURL
	if unsafe.StringData(one.Spec.Deployment.SHA) != unsafe.StringData(url[len(url)-len("cafe"):]) {
		t.Error("the SHA is not a part of the URL of its commit")
	}
	if unsafe.StringData(one.Status.JobName) != unsafe.StringData(one.Name) {
		t.Error("the name of the Job shares no memory with the name of the run")
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
			Trigger:     v1alpha1.TriggerReference{Name: own("smoke"), UID: types.UID(own("uid-1"))},
			Environment: own("staging"), EnvironmentUID: types.UID(own("uid-2")), SupersedeKey: own("main/staging"), Siblings: []string{own("load")},
			Deployment: v1alpha1.Deployment{Branch: own("main"), SHA: own("cafe"), CommitURL: own("https://github.com/acme/shop/commit/cafe")},
			Variables:  v1alpha1.Variables{own("REGION"): own("eu")},
		},
		Status: v1alpha1.SuiteStatus{
			JobName:    own("smoke-1"),
			UnderTest:  &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{{Name: own("web"), Start: &v1alpha1.WorkloadVersion{SHA: own("beef")}}}},
			Conditions: []metav1.Condition{{Type: own(v1alpha1.ConditionSucceeded), Reason: own(v1alpha1.ReasonFailed)}},
			Results: &v1alpha1.TestResults{Tests: 2, Failed: 1, FlakyTests: []string{own("cart > counts")}, Failures: []v1alpha1.TestFailure{
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
		"its history": string(s.Status.Results.Failures[0].History), "flaky test": s.Status.Results.FlakyTests[0],
		"UID of the trigger": string(s.Spec.Trigger.UID), "UID of the environment": string(s.Spec.EnvironmentUID), "sibling": s.Spec.Siblings[0],
		"workload": s.Status.UnderTest.Workloads[0].Name, "its commit": s.Status.UnderTest.Workloads[0].Start.SHA,
	}
	for _, m := range []map[string]string{s.Labels, s.Annotations, s.Spec.Variables} {
		for key := range m {
			texts["key "+key] = key
		}
	}
	return texts
}

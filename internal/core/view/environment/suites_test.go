package environment_test

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

var (
	now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	sha = strings.Repeat("b776998c", 5)
)

// run is a Suite that was received ten minutes ago.
func run(name string, condition metav1.Condition, changes ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := now.Add(-10 * time.Minute)
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", CreationTimestamp: metav1.NewTime(received)},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: sha}, ReceivedAt: new(metav1.NewMicroTime(received))},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{condition}},
	}, changes...)
}

// ran sets how long after its receipt a run started, and how long it took.
func ran(waited, took time.Duration) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		start := s.Received().Add(waited)
		s.Status.StartTime, s.Status.CompletionTime = new(metav1.NewTime(start)), new(metav1.NewTime(start.Add(took)))
	}
}

func started(waited time.Duration) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Status.StartTime = new(metav1.NewTime(s.Received().Add(waited))) }
}

func of(trigger, environment, branch string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Deployment.Branch = trigger, environment, branch
	}
}

var (
	passed   = v1alpha1.Passed("The tests passed.")
	failed   = v1alpha1.Failed("The tests failed with exit code 1.")
	running  = v1alpha1.Running("The tests are running.")
	canceled = v1alpha1.Canceled("Canceled by anna.")

	inconclusive = v1alpha1.Inconclusive("What was tested changed meanwhile.")
)

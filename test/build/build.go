package controllers_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func anEnvironment(name string, change ...func(*v1alpha1.Environment)) *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"}}
	for _, c := range change {
		c(e)
	}
	return e
}

func ephemeral(until time.Time) func(*v1alpha1.Environment) {
	return func(e *v1alpha1.Environment) {
		e.Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{DeploymentURL: "https://pr-1.example.com", ExpiresAt: metav1.NewTime(until)}
	}
}

func aTrigger(name string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}}
	t.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "test"}}
	for _, c := range change {
		c(t)
	}
	return t
}

func atMost(runs int32) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = runs }
}

func keptFor(ttl time.Duration) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Retention.TTLAfterFinished = &metav1.Duration{Duration: ttl} }
}

// noon is the time from which the Suites of a test arrive.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// aSuite of the Trigger "smoke", received the given seconds after noon. It is in no stream unless an option
// sets a key or another policy.
func aSuite(name string, seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := metav1.NewMicroTime(noon.Add(time.Duration(seconds) * time.Second))
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SuiteSpec{
			Trigger:     v1alpha1.TriggerReference{Name: "smoke"},
			Environment: "staging",
			Deployment:  v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e"},
			ReceivedAt:  &received,
			Supersede:   v1alpha1.SupersedeNone,
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func of(trigger string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = trigger }
}

func at(environment string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Environment = environment }
}

func keyed(key string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = key }
}

func aTeam(name, namespace string, change ...func(*v1alpha1.Team)) *v1alpha1.Team {
	t := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpec{Namespace: namespace}}
	for _, c := range change {
		c(t)
	}
	return t
}

// arrives moves when a Suite was received from the noon of the tables to the time of this test. The API server says when it
// was created, and one that is a day older counts as restored from a backup.
func (w *world) arrives(s *v1alpha1.Suite) *v1alpha1.Suite {
	if s.Spec.ReceivedAt != nil {
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(s.Spec.ReceivedAt.Add(w.began.Sub(noon))))
	}
	return s
}

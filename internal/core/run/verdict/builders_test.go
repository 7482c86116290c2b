package verdict_test

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/test/build"
)

var (
	noon     = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	sha      = strings.Repeat("5ca1ab1e", 5)
	otherSHA = strings.Repeat("deadbeef", 5)

	passed       = v1alpha1.Passed("The tests passed.")
	failed       = v1alpha1.Failed("The tests failed with exit code 1.")
	timedOut     = v1alpha1.TimedOut("The tests took more than 10m.")
	anError      = v1alpha1.Error("The image cannot be pulled.")
	canceled     = v1alpha1.Canceled("Canceled by ada.")
	superseded   = v1alpha1.Superseded("Superseded by smoke-9.")
	inconclusive = v1alpha1.Inconclusive("What was tested changed meanwhile.")
	queued       = v1alpha1.Queued("It waits for a slot.")
	running      = v1alpha1.Running("The tests are running.")
)

func at(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }

// run is a run of smoke for sha, which was requested in a minute of the hour after noon, and took one.
func run(name string, minute int, condition metav1.Condition, changes ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(at(minute))},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Attempt: 1, Origin: v1alpha1.OriginNotification,
			Deployment: v1alpha1.Deployment{Repository: "acme/shop", SHA: sha, Branch: "main"},
			ReceivedAt: new(metav1.NewMicroTime(at(minute))),
		},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{condition}},
	}
	if s.Finished() {
		s.Status.CompletionTime = new(metav1.NewTime(at(minute + 1)))
	}
	return build.With(s, changes...)
}

type change = func(*v1alpha1.Suite)

func of(trigger string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = trigger }
}

func service(name string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name }
}

func commitOf(repository, revision string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository, s.Spec.Deployment.SHA = repository, revision }
}

func siblings(names ...string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Siblings = names }
}

func by(o v1alpha1.Origin) change {
	return func(s *v1alpha1.Suite) { s.Spec.Origin = o }
}

func repeatedBy(name string) change {
	return func(s *v1alpha1.Suite) { s.Status.RepeatedBy = name }
}

// endedIn sets the minute of the end.
func endedIn(minute int) change {
	return func(s *v1alpha1.Suite) { s.Status.CompletionTime = new(metav1.NewTime(at(minute))) }
}

func answeredOther(minute int, differs ...v1alpha1.Difference) change {
	return func(s *v1alpha1.Suite) {
		s.Status.AnsweredOther = &v1alpha1.OtherDeployment{NotifiedAt: metav1.NewTime(at(minute)), Differs: differs}
	}
}

func variables(value string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Variables = v1alpha1.Variables{"browser": value} }
}

func deployedTo(url string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = url }
}

func newFailures(names ...string) change {
	return func(s *v1alpha1.Suite) {
		r := &v1alpha1.TestResults{Tests: 10, Failed: int32(len(names)), NewFailures: int32(len(names))}
		for _, name := range names {
			r.Failures = append(r.Failures, v1alpha1.TestFailure{Name: name, History: v1alpha1.FailureNew})
		}
		s.Status.Results = r
	}
}

func trigger(name string, conditions ...metav1.Condition) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.TriggerSpec{Environment: "staging"},
		Status: v1alpha1.TriggerStatus{Conditions: conditions},
	}
}

func notReady(message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Invalid", Message: message}
}

// question asks an hour after noon about sha in staging, whose only Trigger is smoke.
func question(runs ...*v1alpha1.Suite) verdict.Question {
	return verdict.Question{
		Commit: commit.New("acme/shop", "", sha),
		Environment: &v1alpha1.Environment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging", UID: "new", CreationTimestamp: metav1.NewTime(noon.Add(-24 * time.Hour))},
		},
		Triggers: []*v1alpha1.Trigger{trigger("smoke")}, Suites: runs, Now: at(60),
	}
}

func asked(q verdict.Question, changes ...func(*verdict.Question)) verdict.Question {
	for _, change := range changes {
		change(&q)
	}
	return q
}

func about(repository, service, revision string) func(*verdict.Question) {
	return func(q *verdict.Question) { q.Commit = commit.New(repository, service, revision) }
}

func triggers(all ...*v1alpha1.Trigger) func(*verdict.Question) {
	return func(q *verdict.Question) { q.Triggers = all }
}

func gate(change func(*v1alpha1.GateRule)) func(*verdict.Question) {
	return func(q *verdict.Question) {
		if q.Environment.Spec.Gate == nil {
			q.Environment.Spec.Gate = &v1alpha1.GateRule{}
		}
		change(q.Environment.Spec.Gate)
	}
}

func requires(names ...string) func(*verdict.Question) {
	return gate(func(r *v1alpha1.GateRule) { r.Triggers = names })
}

func maxAge(d time.Duration) func(*verdict.Question) {
	return gate(func(r *v1alpha1.GateRule) { r.MaxAge = &metav1.Duration{Duration: d} })
}

func minAge(d time.Duration) func(*verdict.Question) {
	return gate(func(r *v1alpha1.GateRule) { r.MinAge = &metav1.Duration{Duration: d} })
}

// drawn writes requirements as: smoke passed a, e2e none.
func drawn(v verdict.Verdict) string {
	var all []string
	for _, r := range v.Requirements {
		text := v1alpha1.TestName(r.Trigger, r.Service) + " " + string(r.State)
		if r.Run != nil {
			text += " " + r.Run.Name
		}
		all = append(all, text)
	}
	return fmt.Sprintf("%s: %s", v.State, strings.Join(all, ", "))
}

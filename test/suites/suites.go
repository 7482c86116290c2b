// Package suites builds runs and what they belong to, for the tests of the packages that decide about runs.
package suites

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/test/build"
)

// T0 is when the stories of tests begin.
var T0 = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

// ASuite of the stream main/staging, received the given seconds after T0.
func ASuite(name string, seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	at := T0.Add(time.Duration(seconds) * time.Second)
	received := metav1.NewMicroTime(at)
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo", CreationTimestamp: metav1.NewTime(at)},
		Spec: v1alpha1.SuiteSpec{
			Trigger:      v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"},
			Environment:  "staging",
			SupersedeKey: "main/staging",
			Attempt:      1,
			ReceivedAt:   &received,
		},
	}, change...)
}

// InState gives a run a condition, and an end a minute after its creation if that is one.
func InState(condition metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{condition}
		if condition.Status != metav1.ConditionUnknown {
			s.Status.CompletionTime = &metav1.Time{Time: s.CreationTimestamp.Add(time.Minute)}
		}
	}
}

// WithJob has had a Job.
func WithJob(s *v1alpha1.Suite) { s.Status.JobName = s.Name }

// Deleted is being deleted.
func Deleted(s *v1alpha1.Suite) { s.DeletionTimestamp = &metav1.Time{Time: T0} }

// WithCommit sets what a run tests.
func WithCommit(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
}

// Canceled is canceled.
func Canceled(s *v1alpha1.Suite) { s.Spec.Cancel = true }

// Scheduled was started by its schedule.
func Scheduled(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T17:00:00Z"}
	s.Spec.Origin, s.Spec.DeployedAt = v1alpha1.OriginSchedule, s.Spec.ReceivedAt
}

// OfTrigger belongs to another Trigger.
func OfTrigger(trigger string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger = v1alpha1.TriggerReference{Name: trigger} }
}

// ATrigger is that of ASuite.
func ATrigger() *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "smoke", Namespace: "demo", UID: "uid-smoke"}}
}

// AnEnvironment is that of ASuite.
func AnEnvironment() *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging", Namespace: "demo", UID: "uid-staging"}}
}

// ATeam owns the namespace of ASuite.
func ATeam() *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
}

// WithPolicy removes the key of a Suite, so that the policy defines its stream.
func WithPolicy(policy v1alpha1.SupersedePolicy) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.SupersedeKey, s.Spec.Supersede = "", policy }
}

// WithBranch sets what branch was deployed.
func WithBranch(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name }
}

// InEnvironment tests another Environment.
func InEnvironment(environment string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Environment = environment }
}

// NotifiedBy sets the notification that a Suite belongs to.
func NotifiedBy(request string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		if request != "" {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: request}
		}
	}
}

// WithKey sets what supersedes what.
func WithKey(key string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = key }
}

// ALedger is that of the Environment of most tests.
func ALedger(suites ...*v1alpha1.Suite) *ledger.Ledger { return ledger.Of(AnEnvironment(), suites) }

// SettleIn is an Environment with spec.settle; without atMost if that is 0.
func SettleIn(quiet, atMost time.Duration) *v1alpha1.Environment {
	e := AnEnvironment()
	e.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet}}
	if atMost > 0 {
		e.Spec.Settle.AtMost = &metav1.Duration{Duration: atMost}
	}
	return e
}

// After returns a time so many seconds after T0.
func After(seconds int) time.Time { return T0.Add(time.Duration(seconds) * time.Second) }

// Burst returns one from and to so many seconds after T0.
func Burst(first, last int) queue.Burst { return queue.Burst{First: After(first), Last: After(last)} }

// RerunBy was started by a person.
func RerunBy(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
}

// Restored is what Velero does to a Suite.
func Restored(s *v1alpha1.Suite) {
	s.Labels = map[string]string{v1alpha1.LabelRestoredByVelero: "nightly"}
	s.Spec.ReceivedAt = new(metav1.NewMicroTime(s.CreationTimestamp.Add(-5 * time.Minute)))
}

// NotifiedAgain was notified again so many seconds after T0.
func NotifiedAgain(seconds int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.NotifiedAgainAt = new(metav1.NewMicroTime(T0.Add(time.Duration(seconds) * time.Second)))
	}
}

// Awaiting since a time.
func Awaiting(at time.Time) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		c := v1alpha1.NotRolledOut("It comes.")
		c.LastTransitionTime = metav1.NewTime(at)
		meta.SetStatusCondition(&s.Status.Conditions, c)
	}
}

// Shop is what an Environment has under test.
var Shop = []v1alpha1.TestedWorkload{{Kind: "Deployment", Namespace: "demo", Name: "shop",
	Start: &v1alpha1.WorkloadVersion{UID: "1", SHA: "a"}}}

// IsSuccessor follows a run without a result.
func IsSuccessor(s *v1alpha1.Suite) {
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRepeats, "earlier")
}

package suite_test

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

var t0 = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

// aSuite of the stream main/staging, received the given seconds after t0.
func aSuite(name string, seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	at := t0.Add(time.Duration(seconds) * time.Second)
	received := metav1.NewMicroTime(at)
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo", CreationTimestamp: metav1.NewTime(at)},
		Spec: v1alpha1.SuiteSpec{
			Trigger:      v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"},
			Environment:  "staging",
			SupersedeKey: "main/staging",
			Attempt:      1,
			ReceivedAt:   &received,
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func in(condition metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{condition}
		if condition.Status != metav1.ConditionUnknown {
			s.Status.CompletionTime = &metav1.Time{Time: s.CreationTimestamp.Add(time.Minute)}
		}
	}
}

func withJob(s *v1alpha1.Suite) { s.Status.JobName = s.Name }

func deleted(s *v1alpha1.Suite) { s.DeletionTimestamp = &metav1.Time{Time: t0} }

func missing(since time.Time) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		c := v1alpha1.ObjectMissing("")
		c.LastTransitionTime = metav1.NewTime(since)
		s.Status.Conditions = append(s.Status.Conditions, c)
	}
}

func commit(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
}

func canceled(s *v1alpha1.Suite) { s.Spec.Cancel = true }

func scheduled(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T17:00:00Z"}
	s.Spec.Origin, s.Spec.DeployedAt = v1alpha1.OriginSchedule, s.Spec.ReceivedAt
}

func of(trigger string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger = v1alpha1.TriggerReference{Name: trigger} }
}

func aTrigger() *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "smoke", Namespace: "demo", UID: "uid-smoke"}}
}

func anEnvironment() *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging", Namespace: "demo", UID: "uid-staging"}}
}

func aTeam() *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
}

// defined has what a run of the team is made from. The Environment may be nil.
func defined(t *v1alpha1.Trigger, e *v1alpha1.Environment) suite.Definition {
	return suite.Definition{Trigger: t, Environment: e, Team: aTeam()}
}

// progress is what a Job says.
func progress(c metav1.Condition) outcome.State { return outcome.State{Condition: c} }

func aJob(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo"}}
}

func createdJob(name string, at time.Time) *batchv1.Job {
	j := aJob(name)
	j.CreationTimestamp = metav1.NewTime(at)
	return j
}

func startedJob(name string, at time.Time) *batchv1.Job {
	j := aJob(name)
	j.Status.StartTime = &metav1.Time{Time: at}
	return j
}

func goingJob(name string) *batchv1.Job {
	j := aJob(name)
	j.DeletionTimestamp = &metav1.Time{Time: t0}
	return j
}

// withPolicy removes the key of a Suite, so that the policy defines its stream.
func withPolicy(policy v1alpha1.SupersedePolicy) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.SupersedeKey, s.Spec.Supersede = "", policy }
}

func branch(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name }
}

func at(environment string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Environment = environment }
}

// notifiedBy sets the notification that a Suite belongs to.
func notifiedBy(request string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		if request != "" {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: request}
		}
	}
}

func keyed(key string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = key }
}

// aLedger is that of the Environment of most tests.
func aLedger(suites ...*v1alpha1.Suite) *ledger.Ledger { return ledger.Of(anEnvironment(), suites) }

// decide also reads the ledger where that is asked for, which has the runs of the stream.
func decide(o suite.Observation, now time.Time) suite.Decision {
	d := suite.Decide(o, now)
	if d.Action != suite.ReadLedger {
		return d
	}
	if o.Ledger = aLedger(append(o.Stream, o.Suite)...); len(o.UnderTest.Start) > 0 {
		o.Ledger = aLedgerOf(append(o.Stream, o.Suite)...)
	}
	return suite.Decide(o, now)
}

func completed(j *batchv1.Job, at time.Time) *batchv1.Job {
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	return j
}

// aLedgerOf is that of an Environment whose workloads say what is deployed.
func aLedgerOf(suites ...*v1alpha1.Suite) *ledger.Ledger {
	e := anEnvironment()
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "shop"}}
	e.Status.Deployed = []v1alpha1.Deployed{{Workloads: []v1alpha1.DeployedWorkload{{Name: "shop", UID: "uid-shop"}}}}
	return ledger.Of(e, suites)
}

package lifecycle_test

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

func missing(since time.Time) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		c := v1alpha1.ObjectMissing("")
		c.LastTransitionTime = metav1.NewTime(since)
		s.Status.Conditions = append(s.Status.Conditions, c)
	}
}

// defined has what a run of the team is made from. The Environment may be nil.
func defined(t *v1alpha1.Trigger, e *v1alpha1.Environment) lifecycle.Definition {
	return lifecycle.Definition{Trigger: t, Environment: e, Team: aTeam()}
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

// decide also reads the ledger where that is asked for, which has the runs of the stream.
func decide(o lifecycle.Observation, now time.Time) lifecycle.Decision {
	d := lifecycle.Decide(o, now)
	if d.Action != lifecycle.ReadLedger && d.Action != lifecycle.CompleteLedger {
		return d
	}
	o.Complete = d.Action == lifecycle.CompleteLedger
	if o.Ledger = aLedger(append(o.Stream, o.Suite)...); len(o.UnderTest.Start) > 0 {
		o.Ledger = aLedgerOf(append(o.Stream, o.Suite)...)
	}
	return lifecycle.Decide(o, now)
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

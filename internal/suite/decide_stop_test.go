package suite_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// TestDecideToStop tests the decisions about runs that are deleted or stopped, or have ended.
func TestDecideToStop(t *testing.T) {
	for name, tc := range decideToStopCases {
		t.Run(name, func(t *testing.T) { tc.check(t) })
	}
}

// shortRetention is a Trigger whose runs are kept for an hour.
func shortRetention() *v1alpha1.Trigger {
	trigger := aTrigger()
	trigger.Spec.Retention.TTLAfterFinished = &metav1.Duration{Duration: time.Hour}
	return trigger
}

var decideToStopCases = map[string]decideCase{
	"Deleted": {
		reason: "A finalizer of another controller keeps the Suite, but must not block the stream.",
		o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, deleted) }),
		want:   suite.Decision{Condition: v1alpha1.Canceled("The Suite was deleted.")},
	},
	"DeletedWhileRunning": {
		reason: "The garbage collector deletes the Job only once the finalizer is gone.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, deleted)
			o.Job, o.Progress = aJob("self"), v1alpha1.Running("")
		}),
		want: suite.Decision{Action: suite.DeleteJob, Condition: v1alpha1.Running("The Suite was deleted. Stopping its pods.")},
	},
	"DeletedLongAgo": {
		reason: "A Suite is not deleted twice.",
		o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, deleted, in(v1alpha1.Passed("Good."))) }),
		after:  9 * suite.DefaultTTL,
		want:   suite.Decision{Condition: v1alpha1.Passed("Good.")},
	},
	"Starting": {
		reason: "The wait for capacity is bounded.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = createdJob("self", t0), v1alpha1.Starting("No node has room.")
		}),
		after: time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Starting("No node has room."), RequeueAfter: 14 * time.Minute},
	},
	"NotStarted": {
		reason: "The reason is part of the message.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = createdJob("self", t0), v1alpha1.Starting("No node has room.")
		}),
		after: 15 * time.Minute,
		want: suite.Decision{
			Action:       suite.DeleteJob,
			Condition:    v1alpha1.Running("The tests did not start within 15m, the startTimeout of the Trigger. No node has room. Stopping its pods."),
			NotStarted:   "The tests did not start within 15m, the startTimeout of the Trigger. No node has room.",
			RequeueAfter: time.Second,
		},
	},
	"NotStartedAndStopped": {
		reason: "What the Job can no longer show is in a condition.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, withJob, func(s *v1alpha1.Suite) {
				s.Status.Conditions = append(s.Status.Conditions, v1alpha1.NotStarted("No room."))
			})
		}),
		want: suite.Decision{Condition: v1alpha1.Error("No room."), NotStarted: "No room."},
	},
	"RunningAtLast": {
		reason: "Tests that run are not stopped for their start.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = createdJob("self", t0), v1alpha1.Running("Busy.")
		}),
		after: 15 * time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Running("Busy.")},
	},
	"Hopeless": {
		reason: "A missing Secret may be created within a minute.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = createdJob("self", t0), v1alpha1.Starting("The pod cannot start: no Secret.")
			o.PodProblem, o.HopelessSince = "The pod cannot start: no Secret.", t0.Add(10*time.Second)
		}),
		after: time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Starting("The pod cannot start: no Secret."), RequeueAfter: 10 * time.Second},
	},
	"HopelessForLong": {
		reason: "It is no use to wait for the whole timeout.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = createdJob("self", t0), v1alpha1.Starting("The pod cannot start: no Secret.")
			o.PodProblem, o.HopelessSince = "The pod cannot start: no Secret.", t0.Add(10*time.Second)
		}),
		after: 70 * time.Second,
		want: suite.Decision{
			Action:       suite.DeleteJob,
			Condition:    v1alpha1.Running("The pod cannot start: no Secret. Stopping its pods."),
			NotStarted:   "The pod cannot start: no Secret.",
			RequeueAfter: time.Second,
		},
	},
	"StoppedBehindAFinalizer": {
		reason: "Only the pods count. A finalizer that keeps the Job delays no other run.",
		o: ready(func(o *observation) {
			o.Suite, o.Job, o.Progress = aSuite("self", 2, canceled), goingJob("self"), v1alpha1.Running("")
			o.Stopping = suite.Stopping{Since: t0, Done: true}
		}),
		after: 20 * time.Second,
		want:  suite.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
	},
	"StoppingIsChecked": {
		reason: "No event reports that pods stopped if the Job remains.",
		o: ready(func(o *observation) {
			o.Suite, o.Job, o.Progress = aSuite("self", 2, canceled), goingJob("self"), v1alpha1.Running("")
			o.Stopping = suite.Stopping{Since: t0}
		}),
		after: 4 * time.Second,
		want:  suite.Decision{Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping its pods."), RequeueAfter: 6 * time.Second},
	},
	"Lost": {
		reason: "A lost node must not block the stream or a slot.",
		o: ready(func(o *observation) {
			o.Stream = []*v1alpha1.Suite{self, newer}
			o.Job, o.Progress = goingJob("self"), v1alpha1.Running("")
			o.Stopping = suite.Stopping{Since: t0, Lost: "The node is gone."}
		}),
		after: 20 * time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Error("The node is gone.")},
	},
	"Overdue": {
		reason: "The deadline of the Job was removed, or no controller runs it.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = startedJob("self", t0), v1alpha1.Running("")
		}),
		after: 31 * time.Minute,
		want: suite.Decision{Action: suite.DeleteJob, Condition: v1alpha1.Running(
			"The run took longer than its timeout of 30m, and Kubernetes did not end its Job. Stopping its pods."), RequeueAfter: time.Second},
	},
	"OverdueAndDeleted": {
		reason: "The manager deleted the Job because of the deadline.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, withJob)
			o.Suite.Status.StartTime = &metav1.Time{Time: t0}
		}),
		after: 32 * time.Minute,
		want: suite.Decision{Condition: v1alpha1.TimedOut(
			"The run took longer than its timeout of 30m, and Kubernetes did not end its Job.")},
	},
	"DeadlineIsChecked": {
		reason: "No event reports a deadline that nothing enforces.",
		o: ready(func(o *observation) {
			o.Job, o.Progress = startedJob("self", t0), v1alpha1.Running("Busy.")
		}),
		after: 20 * time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Running("Busy."), RequeueAfter: 11 * time.Minute},
	},
	"Orphaned": {
		reason: "The Job was deleted without its pods, which still run.",
		o: ready(func(o *observation) {
			o.Suite, o.PodsLeft, o.GiveUpPods = aSuite("self", 2, withJob, canceled, missing(t0)), true, 10*time.Minute
		}),
		after: 11 * time.Minute,
		want: suite.Decision{Condition: v1alpha1.Error("Canceled by setting spec.cancel. Its Job is gone, and its pods still run, and nothing stops them. " +
			"Stop them: kubectl delete pods -n demo -l postflight.dev/suite=self")},
	},
	"Unlabeled": {
		reason: "The cache does not have the Job, so it is checked periodically.",
		o: ready(func(o *observation) {
			o.Job, o.Unlabeled, o.Progress = aJob("self"), true, v1alpha1.Running("Busy.")
		}),
		want: suite.Decision{Condition: v1alpha1.Running("Busy."), RequeueAfter: 15 * time.Second},
	},
	"SupersededBefore": {
		reason: "What was superseded stays so, also where the newer Suite is gone.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2)
			o.Suite.Status.SupersededBy = "newer"
			o.Stream = []*v1alpha1.Suite{self}
		}),
		want: suite.Decision{
			Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
			SupersededBy: "newer",
		},
	},
	"KeptAsTheSuiteSays": {
		reason: "Neither the deletion of the Trigger nor its change makes a run go earlier.",
		o: ready(func(o *observation) {
			o.Suite, o.Trigger = aSuite("self", 2, in(v1alpha1.Passed("Good."))), shortRetention()
			o.Suite.Spec.TTLAfterFinished = &metav1.Duration{Duration: 8760 * time.Hour}
		}),
		after: 2*time.Second + time.Minute + time.Hour,
		want:  suite.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: 8759 * time.Hour},
	},
	"FinishedAndKept": {
		reason: "It comes again when its time is up; the Trigger's word counts.",
		o: ready(func(o *observation) {
			o.Suite, o.Trigger = aSuite("self", 2, in(v1alpha1.Passed("Good."))), shortRetention()
		}),
		after: 2*time.Second + 31*time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: 30 * time.Minute},
	},
	"FinishedLongAgo": {
		reason: "A week is the default where the Trigger is gone.",
		o: ready(func(o *observation) {
			o.Suite, o.Trigger = aSuite("self", 2, in(v1alpha1.Passed("Good."))), nil
		}),
		after: 2*time.Second + time.Minute + suite.DefaultTTL,
		want:  suite.Decision{Condition: v1alpha1.Passed("Good."), Action: suite.DeleteSuite},
	},
	"FinishedWithAJobLeft": {
		reason: "A leader that was slow to step down may have started it.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, in(v1alpha1.Superseded("Over.")))
			o.Job, o.Progress = aJob("self"), v1alpha1.Running("")
		}),
		want: suite.Decision{Condition: v1alpha1.Superseded("Over."), Action: suite.DeleteJob, RequeueAfter: suite.DefaultTTL + 2*time.Second + time.Minute},
	},
	"FinishedLongAgoWithAJobLeft": {
		reason: "The Job goes first.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, in(v1alpha1.Superseded("Over.")))
			o.Job, o.Unlabeled, o.Progress = aJob("self"), true, v1alpha1.Running("")
		}),
		after: 2 * suite.DefaultTTL,
		want:  suite.Decision{Condition: v1alpha1.Superseded("Over."), Action: suite.DeleteJob},
	},
	"FinishedNeverChanges": {
		reason: "Neither a cancel nor a newer run nor another outcome changes an end.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, in(v1alpha1.Passed("Good.")), canceled)
			o.Stream = []*v1alpha1.Suite{newer}
			o.Job, o.Progress = aJob("self"), v1alpha1.Failed("Bad.")
		}),
		after: 2*time.Second + time.Minute,
		want:  suite.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: suite.DefaultTTL},
	},
}

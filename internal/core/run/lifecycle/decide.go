// Package lifecycle decides about runs: what exists says what to do about a Suite (Decide), and what its status says (SetStatus).
package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	appearWithin = 30 * time.Second // long enough for a slow cache, or for the rest of a Git commit to be applied
	appearEvery  = 5 * time.Second  // how often to check for an object that does not exist, in case an event was lost
	podsEvery    = 2 * time.Second  // how often to check whether pods are gone, which no event reports
	confirmEvery = time.Second      // how often to check whether a node has said how containers ended, which no event reports

	// ArchiveWithin is how much longer a finished Suite is kept if it is not archived: a store may be unavailable for a night.
	ArchiveWithin = 24 * time.Hour
)

// Decision is what to do about one Suite, and the state to report with it.
type Decision struct {
	Action       Action
	Condition    metav1.Condition // the Succeeded condition to be, without the Advice; of a finished Suite, the one it has
	Advice       string           // a sentence that ends the message: what to do, unless another run follows by itself
	Missing      string           // names an object that the run needs and that does not exist; empty: none is missing
	SupersededBy string
	Successor    string        // the run that is about to repeat it; empty for others
	NotStarted   string        // a sentence: why a run whose tests never ran is stopped; empty for others
	Interrupted  bool          // the run ends as Error, by what the cluster did
	RequeueAfter time.Duration // reconcile again after this, even if nothing changes; 0: no need

	// Deferred reports the status with the first change of the new Job, in one write. Until then, Jobs of other runs are created.
	Deferred bool

	// NotRolledOut says how far the version is that the run waits for, as sentences; empty: it does not wait for one. RolledOut: it no
	// longer does.
	NotRolledOut string
	RolledOut    bool

	OnHold  bool // waits for the end of a hold of its Environment, or for it to settle
	Waiting bool // in the queue: only the message can change, so few of these are written at once
	Stuck   bool // its pods cannot start: a thousand such runs must not hold up others
}

// Decide says what to do about one Suite, from what exists and never from recorded progress, so it may be called at any time.
// It never returns the same action twice once the Observation has the result of the action. The tests check these invariants:
//   - The newest Suite of a stream and its siblings are never superseded: of the newest notification, every Suite runs.
//   - A finished Suite never changes how it ended.
//   - A Suite has at most one Job, and no Job once it is canceled or superseded.
//   - A Suite that was restored from a backup never gets a Job.
//   - A run starts only when all older runs of its stream, siblings excepted, have ended and their pods are gone.
//   - A run starts only if its Environment has its version, where its Trigger waits for that.
//   - A run that has not ended waits for something that its message names.
//   - A run has no verdict if what it tested changed meanwhile, and does not pass if something else was deployed there.
//   - A run does not pass if something in it was killed, and nothing shows that all its tests ran.
//   - A run gets a successor only if it has no verdict and its commit is still deployed: once because what it tested changed, and as
//     often as its Trigger says because of errors.
//   - A run that repeats only failed tests passes only if all of these passed.
func Decide(o Observation, now time.Time) Decision {
	if o.Stopping.Requested.After(now.Add(time.Minute)) { // a person wrote that, no manager did
		o.Stopping.Requested = time.Time{}
	}
	d := amended(o, firstOf(stages, o, now), now)
	if o.Job != nil && !Ended(d.Condition) && d.Action != DeleteSuite {
		d.RequeueAfter = Sooner(d.RequeueAfter, jobPollInterval(o, now))
	}
	d.Deferred = o.Creation.Result == Created
	d.Waiting = d.onlyMessage(o)
	d.Stuck = o.Unready && !Ended(d.Condition)
	return d
}

// stage decides, or returns nil and leaves the decision to the stages after it.
type stage func(o Observation, now time.Time) *Decision

// stages are asked in this order, and the first that decides has the say.
var stages = []stage{
	// A finished Suite never changes how it ended.
	finished,

	// What has become of the Job. Each of these may end the run before anything stops it.
	unconfirmed, // first, because what the pods reported is not known yet, whoever asks
	jobEnded,    // before all that stops a run: tests that have ended count
	podsLost,    // before all that stops a run, which would wait for these pods for ever
	restored,    // its Job is in another cluster, so that there is nothing to stop

	// What stops a run. With each, the run ends once its pods have stopped.
	deleted,
	superseded, // before a cancellation, so that the status names the newer run
	canceled,
	notStarted, // before the next, because the reason is recorded and outlasts the Job
	overdue,

	// The Job runs, or has. After these, the run has never had one.
	heldOpen,
	jobRuns,
	jobDeleted,

	// What the run is made from. All that follows reads these objects.
	triggerMissing,
	triggerIncomplete,
	environmentMissing,
	environmentRecreated,
	teamUnknown,

	// What the run waits for. It has neither a slot nor a place in the queue meanwhile.
	teamSuspended,
	environmentSettles, // before a hold that ends earlier
	environmentHeld,
	olderRunUnfinished,
	versionMissing, // last, because only time in which the run would have started counts

	startJob,
}

func firstOf(stages []stage, o Observation, now time.Time) Decision {
	for _, s := range stages {
		if d := s(o, now); d != nil {
			return *d
		}
	}
	return Decision{}
}

// amendment turns an end into another one, or puts it off, or returns nil if the end stays.
type amendment func(o Observation, end Decision, now time.Time) *Decision

// amendments get what the ones before them made of an end. If one puts the end off, the others wait for the next call.
var amendments = []amendment{
	// These look at runs that passed on their own.
	failedTestsPassed, // first, because its sentence about all tests begins the message
	allTestsRan,       // before the next, which says that the tests passed
	nothingElseDeployed,

	workloadsUnchanged, // after these, because it takes every verdict, whatever the tests said
	retried,            // after these, because it needs an Error, which none of them makes
	counted,            // last, because the counts of tests begin every message
}

func amended(o Observation, d Decision, now time.Time) Decision {
	if o.Suite.Finished() {
		return d
	}
	for _, amend := range amendments {
		if !Ended(d.Condition) {
			break
		}
		if changed := amend(o, d, now); changed != nil {
			d = *changed
		}
	}
	return d
}

// ending returns the decision with another end, whose message says what follows.
func (d Decision) ending(c metav1.Condition) *Decision {
	d.Condition, d.Advice = c, ""
	return &d
}

// condition returns a decision that does nothing but report.
func condition(c metav1.Condition) *Decision { return &Decision{Condition: c} }

// Ended reports whether a Succeeded condition is final.
func Ended(c metav1.Condition) bool { return c.Status != "" && c.Status != metav1.ConditionUnknown }

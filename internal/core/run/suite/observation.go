package suite

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// Observation is everything that exists and bears on one Suite, and the results of the actions of this reconcile.
type Observation struct {
	Suite       *v1alpha1.Suite
	Stream      []*v1alpha1.Suite     // at least those of the same stream that have not ended, and the newest, of all and of other commits
	Trigger     *v1alpha1.Trigger     // nil: there is none of that name and UID
	Recreated   bool                  // there is a Trigger of that name, with another UID
	Incomplete  string                // why the Trigger lacks what it inherits, as sentences; empty: it has all of it
	Environment *v1alpha1.Environment // nil: there is none
	Burst       Burst                 // of the Environment, if it has spec.settle
	Team        *v1alpha1.Team        // that owns the namespace; nil: none does, or several claim it

	Job           *batchv1.Job       // nil: there is none. If the Suite has had one, this was read from the API server, not from a cache
	Unlabeled     bool               // the Job lacks the label by which the cache finds it, so that no event reports it
	Unready       bool               // the Job should have a ready pod and has none
	Progress      metav1.Condition   // what the Job and its pods say, where there is a Job
	DecidedBy     v1alpha1.DecidedBy // what decided that Progress is Passed or Failed
	Judged        bool               // Progress says how the tests of an ended Job did
	PodProblem    string             // see outcome.State, also for the next
	StartingSince time.Time
	HopelessSince time.Time
	Started       time.Time     // when the first container of the tests started, where a pod says so, or its Job just did
	NotBegun      bool          // neither the Job nor a pod shows that a container of the tests has run; the Job has not ended
	TimeLimit     time.Duration // of the Job; 0: it does not say
	StartLimit    time.Duration // of the Job, for its tests to start; 0: it does not say
	TestsEnded    time.Time     // when the last of the tests ended in pods that have not; zero: tests run, or there is no such pod
	Unconfirmed   bool          // the Job has ended, and its node has not yet said how all containers did
	HeldOpen      bool          // since TestsEnded, only containers run that are not in the jobTemplate
	Killed        string        // see outcome.State
	PodsLeft      bool          // the run has had a Job, which is gone, and not all of its pods have ended
	GiveUpPods    time.Duration // how long to wait for pods that should stop
	Stopping      Stopping      // of a Job whose pods should stop

	KeepsResults bool               // the pods of the run have a directory for results
	Collected    *results.Collected // what their pods say of these; nil where there is no such pod, or its tests have not begun
	Required     results.Requirement
	PassedBefore *v1alpha1.Suite   // LastPassed; nil: there is none, or this run does not pass by its reports
	Plan         *failedtests.Plan // what the run repeats, according to its Job; nil: it runs all tests, or nobody knows
	Unarchived   bool              // there is an object store, and the record of the finished run is not in it yet

	UnderTest UnderTest

	Interrupted bool // Progress is an end that the cluster caused; see outcome.State, also for the next
	Unpulled    bool
	LostPods    bool // Stopping.Lost is what the cluster caused

	// The results of the actions; each is unset until its action was done.
	Position    *Position // RequestSlot
	Inputs      *Inputs
	Failed      *FailedTests
	FailedChain []*v1alpha1.Suite // the runs together with which the run is a whole, the newest first
	Creation    Creation
	Tests       TestComparison // CompareTests
	Repeat      Repeat         // RepeatRun
	Ledger      *ledger.Ledger // ReadLedger: of the Environment
}

// Action is the one thing to do about a Suite. Its result goes into the Observation, for the next call of Decide.
type Action string

// The actions.
const (
	Report      Action = ""            // nothing is left to do but to write the status
	RequestSlot Action = "RequestSlot" // find the position in the queue
	StopPods    Action = "StopPods"    // with their grace period, and keep them for their logs
	EndPods     Action = "EndPods"     // of which the tests have ended
	FindInputs  Action = "FindInputs"  // look for the files of the run. It makes a Position stale
	FindFailed  Action = "FindFailed"  // look for the failed tests that the run repeats. It makes a Position stale, too
	CreateJob   Action = "CreateJob"
	DeleteJob   Action = "DeleteJob"   // with its pods, before the Job is gone
	DeleteSuite Action = "DeleteSuite" // and its Job

	CompareWorkloads Action = "CompareWorkloads" // with those of the start
	CompareTests     Action = "CompareTests"     // with those of PassedBefore
	ReadLedger       Action = "ReadLedger"       // to know whether the commit of the run is still deployed
	RepeatRun        Action = "RepeatRun"        // create the next attempt, before the run ends
)

// Creation is the result of creating the Job.
type Creation struct {
	Result CreationResult
	Detail string // depends on the result

	Unknown bool // the API server did not answer, and may have created the Job
}

// CreationResult says whether the Job was created, and why not.
type CreationResult string

// The results.
const (
	NotTried    CreationResult = ""
	Created     CreationResult = "Created"
	Impossible  CreationResult = "Impossible"  // no Job can be built; Detail is a sentence
	NotAccepted CreationResult = "NotAccepted" // the API server may accept the Job later; Detail is a clause
	Rejected    CreationResult = "Rejected"    // the API server would reject the Job again; Detail is a clause
	NotWhole    CreationResult = "NotWhole"    // the run cannot be taken together with the one whose failed tests it repeats; Detail is a sentence
	NameTaken   CreationResult = "NameTaken"   // a Job of the name belongs to something else
	NameInUse   CreationResult = "NameInUse"   // a Job of the name belongs to an earlier Suite, and is about to be deleted
)

// Stopping is the progress of a Job whose pods should stop: because it is being deleted, has failed or has succeeded.
type Stopping struct {
	Since time.Time // zero: the Job runs

	Requested time.Time     // when the manager began to stop the pods; zero: it did not
	Grace     time.Duration // how long they may take
	Repeated  bool          // StopPods was done in this reconcile

	Done bool   // the Job is being deleted, and all of its pods have ended
	Lost string // a sentence about pods that do not stop, and may still be running; empty: there are none
}

// StopRequested records that the pods of the Job were stopped.
func (o *Observation) StopRequested(now time.Time) {
	o.Stopping.Repeated = true
	if o.Stopping.Requested.IsZero() {
		o.Stopping.Requested, o.Stopping.Since = now, now
	}
}

// JobDeleted records that the deletion of the Job was requested.
func (o *Observation) JobDeleted(now time.Time) {
	o.Job = o.Job.DeepCopy()
	o.Job.DeletionTimestamp = &metav1.Time{Time: now}
}

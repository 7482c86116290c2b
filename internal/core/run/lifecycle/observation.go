package lifecycle

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// Observation is everything that exists and bears on one Suite, and the results of the actions of this reconcile.
type Observation struct {
	Suite  *v1alpha1.Suite
	Stream []*v1alpha1.Suite // at least those of the same stream that have not ended, and the newest, of all and of other commits

	Definition
	Waiting

	Job *batchv1.Job // nil: there is none. If the Suite has had one, this was read from the API server, not from a cache
	JobInfo
	outcome.State // what the Job and its pods say, if there is a Job. Its Condition is what the status gets if nothing else decides
	Stopping      Stopping

	End
}

// Definition is what people ask for: what a run is made from.
type Definition struct {
	Trigger     *v1alpha1.Trigger     // nil: there is none of that name and UID
	Recreated   bool                  // there is a Trigger of that name, with another UID
	Incomplete  string                // why the Trigger lacks what it inherits, as sentences; empty: it has all of it
	Environment *v1alpha1.Environment // nil: there is none
	Team        *v1alpha1.Team        // that owns the namespace; nil: none does, or several claim it
}

// Waiting is what a run needs before its tests start. All but the Burst are results of actions, and unset until their action was done.
type Waiting struct {
	Burst       queue.Burst     // of the Environment, if it has spec.settle
	Position    *queue.Position // RequestSlot
	Inputs      *Inputs         // FindInputs
	Failed      *rerun.FailedTests
	FailedChain []*v1alpha1.Suite // the runs together with which the run is a whole, the newest first
	Creation    Creation          // CreateJob
}

// JobInfo is what a Job says about itself, apart from how its tests are.
type JobInfo struct {
	Unlabeled    bool          // it lacks the label by which the cache finds it, so that no event reports it
	Unready      bool          // it should have a ready pod and has none
	Unconfirmed  bool          // it has ended, and its node has not yet said how all containers did
	TimeLimit    time.Duration // 0: it does not say
	StartLimit   time.Duration // for its tests to start; 0: it does not say
	Unsuitable   string        // a sentence: why the run can have no result where its pods run; "": it can have one
	Elsewhere    bool          // its pods are in another cluster
	KeepsResults bool          // its pods have a directory for results. If the Job is gone, the Trigger says so
	Required     results.Requirement
	Plan         *failedtests.Plan // what the run repeats; nil: it runs all tests, or it is not known
}

// SetJob takes a Job, and what it and its pods say. What the status recorded of a pod that is gone still counts.
func (o *Observation) SetJob(j *batchv1.Job, state outcome.State) {
	o.Job, o.State = j, state.KeepProblem(o.Suite.Status.PodProblem).KeepRunning(o.Suite.Succeeded())
	o.Unready, o.TimeLimit, o.StartLimit = outcome.Starting(j), job.TimeLimit(j), job.StartLimit(j)
	o.Elsewhere, o.Unsuitable = job.RunsElsewhere(j), job.ResultsElsewhere(j)
	o.KeepsResults, o.Required, o.Plan = job.KeepsResults(&j.Spec.Template.Spec), job.RequirementOf(j), job.PlanOf(j)
}

// End is what decides about a run whose tests have ended, or that has itself ended.
type End struct {
	UnderTest    UnderTest
	PassedBefore *v1alpha1.Suite // LastPassed; nil: there is none, or this run does not pass by its reports
	Unarchived   bool            // there is an object store, and the record of the finished run is not in it yet

	// The results of the actions; each is unset until its action was done.
	Tests     TestComparison // CompareTests
	Successor Successor      // CreateSuccessor
	Ledger    *ledger.Ledger // ReadLedger, CompleteLedger: of the Environment
	Complete  bool           // CompleteLedger
}

// Action is the one thing to do about a Suite. Its result goes into the Observation, for the next call of Decide.
type Action string

// The actions.
const (
	Report      Action = ""            // nothing is left to do but to write the status
	RequestSlot Action = "RequestSlot" // find the position in the queue
	StopPods    Action = "StopPods"    // with their grace period, and keep them for their logs
	EndPods     Action = "EndPods"     // whose tests have ended
	FindInputs  Action = "FindInputs"  // look for the files of the run. It makes a Position stale
	FindFailed  Action = "FindFailed"  // look for the failed tests that the run repeats. It makes a Position stale, too
	CreateJob   Action = "CreateJob"
	DeleteJob   Action = "DeleteJob"   // with its pods, before the Job is gone
	DeleteSuite Action = "DeleteSuite" // and its Job

	CompareWorkloads Action = "CompareWorkloads" // with those of the start
	CompareTests     Action = "CompareTests"     // with those of PassedBefore
	ReadLedger       Action = "ReadLedger"       // to know whether the commit of the run is still deployed
	CompleteLedger   Action = "CompleteLedger"   // read it with all that was deployed before the tests ended
	CreateSuccessor  Action = "CreateSuccessor"  // create the next attempt, before the run ends
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
	NotWhole    CreationResult = "NotWhole"    // it and the run whose failed tests it reruns are no whole; Detail is a sentence
	NameTaken   CreationResult = "NameTaken"   // a Job of the name belongs to something else
	NameInUse   CreationResult = "NameInUse"   // a Job of the name belongs to an earlier Suite, and is about to be deleted
)

// Stopping is the progress of pods that should stop: because their Job is being deleted, has failed or has succeeded, or is gone.
type Stopping struct {
	Since time.Time // zero: the Job runs

	Requested    time.Time     // when the manager began to stop the pods; zero: it did not
	RequestedNow bool          // StopPods was done in this reconcile
	Grace        time.Duration // how long they may take
	GiveUp       time.Duration // how long to wait for pods that should stop

	PodsLeft bool // the run has had a Job, which is gone, and not all of its pods have ended
	Done     bool // the Job is being deleted, and all of its pods have ended

	Lost          string // a sentence about pods that do not stop, and may still be running; empty: there are none
	LostToCluster bool   // the cluster, and not the tests, caused Lost
}

// StopRequested records that the pods of the Job were stopped.
func (o *Observation) StopRequested(now time.Time) {
	o.Stopping.RequestedNow = true
	if o.Stopping.Requested.IsZero() {
		o.Stopping.Requested, o.Stopping.Since = now, now
	}
}

// JobDeleted records that the deletion of the Job was requested.
func (o *Observation) JobDeleted(now time.Time) {
	o.Job = o.Job.DeepCopy()
	o.Job.DeletionTimestamp = &metav1.Time{Time: now}
}

// Successor is what came of the creation of the run that repeats another one.
type Successor struct {
	Run     string // its name
	Problem string // a sentence: why there is none
}

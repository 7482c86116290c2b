package suite

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	appearWithin = 30 * time.Second // long enough for a slow cache, or for the rest of a Git commit to be applied
	appearEvery  = 5 * time.Second  // how often to check for an object that does not exist, in case an event was lost
	podsEvery    = 2 * time.Second  // how often to check whether pods are gone, which no event reports
	confirmEvery = time.Second      // how often to check whether a node has said how containers ended, which no event reports

	// ArchiveWithin is how much longer a finished Suite is kept if it is not archived: a store may be unavailable for a night.
	ArchiveWithin = 24 * time.Hour

	exactPositions = 20  // bounds the positions that a message names: those behind change often, and each change costs a write
	maxWho         = 256 // bounds an annotation that names somebody, in bytes: it has room for the name of a service account
)

// Decision is what to do about one Suite, and the state to report with it.
type Decision struct {
	Action       Action
	Condition    metav1.Condition // the Succeeded condition to be; of a finished Suite, the one it has
	Missing      string           // names an object that the run needs and that does not exist; empty: none is missing
	SupersededBy string
	RepeatedBy   string        // the run that is about to repeat it; empty for others
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
//   - A run is repeated only if it has no verdict and its commit is still deployed, once because what it tested changed, and as often as its Trigger says because of errors.
//   - A run that repeats only failed tests passes only if all of these passed.
func Decide(o Observation, now time.Time) Decision {
	if o.Stopping.Requested.After(now.Add(time.Minute)) { // somebody wrote that, no manager did
		o.Stopping.Requested = time.Time{}
	}
	d := retry(o, compare(o, remained(o, expect(o, together(o, decide(o, now)), now)), now), now)
	d.Condition = withResults(o, d.Condition)
	if o.Job != nil && !Ended(d.Condition) && d.Action != DeleteSuite {
		d.RequeueAfter = Sooner(d.RequeueAfter, jobPollInterval(o, now))
	}
	d.Deferred = o.Creation.Result == Created
	d.Waiting = d.onlyMessage(o)
	d.Stuck = o.Unready && !Ended(d.Condition)
	return d
}

func decide(o Observation, now time.Time) Decision {
	switch {
	case o.Suite.Finished():
		return afterEnd(o, now)
	case o.Unconfirmed:
		waiting := cmp.Or(o.Suite.Succeeded(), v1alpha1.Running("The pods have ended. Waiting for their node to report how."))
		return Decision{Condition: waiting, RequeueAfter: confirmEvery}
	case o.Job != nil && Ended(o.State.Condition) && o.Job.DeletionTimestamp == nil && !stopped(o):
		return Decision{Condition: o.State.Condition, Interrupted: o.Interrupted}
	case o.Stopping.Lost != "":
		return Decision{Condition: v1alpha1.Error(o.Stopping.Lost), Interrupted: o.Stopping.LostToCluster}
	case o.Job == nil && o.Suite.Restored():
		return Decision{Condition: v1alpha1.Canceled(restoredMessage)}
	case o.Suite.DeletionTimestamp != nil:
		return stop(o, v1alpha1.Canceled("The Suite was deleted."), now)
	case supersededBy(o) != "":
		return stopSuperseded(o, supersededBy(o), now)
	case o.Suite.Spec.Cancel:
		return stop(o, v1alpha1.Canceled(canceledMessage(o.Suite)+stuck(o)), now)
	case notStarted(o, now) != "":
		return stopNotStarted(o, notStarted(o, now), now)
	case overdue(o, now):
		return stop(o, v1alpha1.TimedOut(tookTooLong(o)), now)
	case o.Job != nil && o.HeldOpen:
		return endHeldOpen(o, now)
	case o.Job != nil:
		return Decision{Condition: o.State.Condition}
	case o.Suite.Status.JobName != "":
		return stop(o, v1alpha1.Error(fmt.Sprintf(
			"The Job %s was deleted before it ended. Notify again, or create another Suite, to repeat the run.", o.Suite.Status.JobName)), now)
	default:
		return start(o, now)
	}
}

const restoredMessage = "Received long before this Suite was created, as after a restore from a backup: it does not run again. " +
	"Notify again, or create a Suite without receivedAt, to test the deployment."

// Ended reports whether a Succeeded condition is final.
func Ended(c metav1.Condition) bool { return c.Status != "" && c.Status != metav1.ConditionUnknown }

// supersededBy keeps what the status says: a stale view of the stream can only hide a newer Suite, which delays the end of this one.
func supersededBy(o Observation) string {
	if newer := newerThan(o.Suite, o.Stream); newer != nil {
		return newer.Name
	}
	return o.Suite.Status.SupersededBy
}

// Unwanted reports whether a run is to be stopped, whatever its Job does.
func Unwanted(o Observation) bool {
	return o.Suite.DeletionTimestamp != nil || o.Suite.Spec.Cancel || supersededBy(o) != ""
}

func canceledMessage(s *v1alpha1.Suite) string {
	if who := plaintext.Line(s.Annotations[v1alpha1.AnnotationCanceledBy], maxWho); who != "" {
		return fmt.Sprintf("Canceled by %s.", who)
	}
	return "Canceled by setting spec.cancel."
}

// stuck returns why the tests of a stopped run had not started, as a sentence, or "".
func stuck(o Observation) string {
	problem := cmp.Or(o.PodProblem, o.Suite.Status.PodProblem)
	if problem == "" || o.Suite.Status.StartTime != nil || !o.Started.IsZero() {
		return ""
	}
	return " Until then, its tests could not start: " + problem
}

func start(o Observation, now time.Time) Decision {
	older := unfinishedBefore(o.Suite, o.Stream)
	switch {
	case o.Trigger == nil:
		return missing(o, now, fmt.Sprintf("Trigger %q", o.Suite.Spec.Trigger.Name))
	case o.Incomplete != "":
		return incomplete(o, now)
	case o.Environment == nil:
		return missing(o, now, fmt.Sprintf("Environment %q", o.Suite.Spec.Environment))
	case rebuilt(o):
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf("The Environment %q was deleted and created again after this notification. Notify what is deployed there now.",
			o.Environment.Name))}
	case o.Team == nil:
		return Decision{Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the namespace %q to belong to exactly one Team. Create the Team, or delete those that claim it wrongly.", o.Suite.Namespace))}
	case o.Team.Spec.Suspended:
		return Decision{Condition: v1alpha1.Queued("The team is suspended; the run starts when it no longer is.")}
	case settles(o, now):
		return settle(o, now)
	case !o.Environment.HeldUntil(now).IsZero():
		return hold(o, now)
	case older != nil:
		return Decision{Condition: v1alpha1.Queued(fmt.Sprintf("Waiting for the older run %s of the same stream to stop.", older.Name))}
	default:
		return startVersion(o, now)
	}
}

// rebuilt reports whether the Environment is another one than that of the notification.
func rebuilt(o Observation) bool {
	was := o.Suite.Spec.EnvironmentUID
	return was != "" && o.Environment.UID != "" && was != o.Environment.UID
}

// createJob spares the store, which may be slow, while a run is queued, unless the run waits for the store anyway.
func createJob(o Observation, now time.Time) Decision {
	if d, without := withoutFailed(o, now); without {
		return d
	}
	needsInputs, needsFailed := o.Trigger.Spec.Inputs != nil, repeatsFailed(o) && o.Failed == nil
	switch in := o.Inputs; {
	case needsInputs && in == nil && waitsForInputs(o.Suite):
		return Decision{Action: FindInputs}
	case in != nil && in.Unavailable != "":
		return waitForStore(o, now)
	case in != nil && in.problem(o.Team) != "":
		return Decision{Condition: v1alpha1.Error(in.problem(o.Team))}
	case needsFailed && waitsForInputs(o.Suite):
		return Decision{Action: FindFailed}
	case o.Position == nil && NeedsSlot(o.Team, o.Trigger, o.Environment):
		return Decision{Action: RequestSlot}
	case o.Position != nil && o.Position.Number > 0:
		return Decision{Condition: v1alpha1.Queued(queueMessage(*o.Position))}
	case needsInputs && in == nil:
		return Decision{Action: FindInputs}
	case needsFailed:
		return Decision{Action: FindFailed}
	default:
		return Decision{Action: CreateJob}
	}
}

// missing waits for an object that may only be late, and then ends the run.
func missing(o Observation, now time.Time, what string) Decision {
	if now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now)) < appearWithin {
		return Decision{Missing: what, Condition: v1alpha1.Queued(missingMessage(o, what)), RequeueAfter: appearEvery}
	}
	if o.Recreated {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf("The %s was deleted and recreated after this notification. Notify again.", what))}
	}
	return Decision{Condition: v1alpha1.Error(fmt.Sprintf("The %s does not exist. Create it and notify again.", what))}
}

// incomplete is missing for what a Trigger inherits, which the rest of a Git commit may complete.
func incomplete(o Observation, now time.Time) Decision {
	if now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now)) < appearWithin {
		what := fmt.Sprintf("TriggerClass %q", o.Trigger.Spec.TriggerClassName)
		return Decision{Missing: what, Condition: v1alpha1.Queued("Waiting for the TriggerClass. " + o.Incomplete), RequeueAfter: appearEvery}
	}
	return Decision{Condition: v1alpha1.Error(o.Incomplete + " Then notify again.")}
}

func missingMessage(o Observation, what string) string {
	if o.Recreated {
		return fmt.Sprintf("The %s was deleted and recreated after this notification, so the run ends as Error within %s. Then notify again.", what, plaintext.Duration(appearWithin))
	}
	return fmt.Sprintf("Waiting for the %s, which does not exist.", what)
}

func afterEnd(o Observation, now time.Time) Decision {
	d := Decision{Condition: o.Suite.Succeeded(), SupersededBy: o.Suite.Status.SupersededBy}
	completed := o.Suite.Status.CompletionTime
	if completed != nil {
		d.RequeueAfter = max(0, completed.Add(keptFor(o)).Sub(now))
	}
	switch {
	case o.Job != nil && !Ended(o.State.Condition) && o.Job.DeletionTimestamp == nil:
		d.Action = DeleteJob
	case completed != nil && d.RequeueAfter == 0 && o.Suite.DeletionTimestamp == nil:
		d.Action = DeleteSuite
	}
	return d
}

// keptFor is longer for an unarchived run: deleting the Suite deletes the pods, from which the archive has the logs.
func keptFor(o Observation) time.Duration {
	kept := max(ttl(o), podsKeptFor(o.Suite))
	if o.Unarchived {
		return kept + ArchiveWithin
	}
	return kept
}

// ttl is the Suite's own, so that a change of its Trigger deletes no run earlier.
func ttl(o Observation) time.Duration {
	if own := o.Suite.Spec.TTLAfterFinished; own != nil {
		return own.Duration
	}
	return o.Trigger.SuiteTTL()
}

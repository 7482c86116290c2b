package suite

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

const (
	// appearWithin is how long a Suite waits for a Trigger or Environment that is not there: long
	// enough for a slow cache, or for the rest of a Git commit to be applied.
	appearWithin = 30 * time.Second

	// appearEvery is how often it looks again, in case no event tells.
	appearEvery = 5 * time.Second

	// podsEvery is how often it looks whether pods are gone, of which no event tells.
	podsEvery = 2 * time.Second

	// DefaultTTL keeps a finished Suite whose Trigger is gone, or says nothing, for a week.
	DefaultTTL = 7 * 24 * time.Hour

	// exactPlaces is how far from the head of the queue a Suite is told its exact place. A place
	// further back changes often and helps nobody, and each change is a write.
	exactPlaces = 20

	// maxCanceledBy bounds what is shown of the annotation that names who canceled a run, in bytes. It is
	// long enough for the name of a service account.
	maxCanceledBy = 256
)

// Observation is all that exists and bears on one Suite.
type Observation struct {
	Suite       *v1alpha1.Suite
	Stream      []*v1alpha1.Suite     // every Suite of the same stream known, itself included or not
	Trigger     *v1alpha1.Trigger     // nil: there is none of that name and UID
	Recreated   bool                  // there is a Trigger of that name, with another UID
	Environment *v1alpha1.Environment // nil: there is none
	Team        *v1alpha1.Team        // that owns the namespace; nil: none does, or several claim it
	Inputs      *Inputs               // the files that the run needs; nil: nobody looked
	Place       int                   // in the queue for a slot, from 1; 0: there is a free one
	Job         *batchv1.Job          // nil: it does not exist, which was asked of the API server, not of a cache, where the Suite has had one
	Unlabeled   bool                  // the Job lacks the label by which the cache finds it, so that no event tells of it
	PodsLeft    bool                  // the run has had a Job, which is gone, and not all of its pods have ended
	GiveUpPods  time.Duration         // how long pods may go on that should stop
	Outcome     metav1.Condition      // what the Job and its pods say, where there is a Job
	Stopping    Stopping              // of a Job whose pods are to stop
}

// Decision is what to do about one Suite: create its Job, and then decide again; or delete its Job and
// write its status; or delete it. At most one of the three booleans is true.
type Decision struct {
	CreateJob   bool
	DeleteJob   bool // with its pods, before it is gone
	DeleteSuite bool

	// LookUpInputs: nothing is in the way of the run but its files, so look for these and decide
	// again. Before, it would be of no use to ask a store that may be slow.
	LookUpInputs bool

	// Missing names an object that the run needs and that does not exist; empty otherwise.
	Missing string

	// NotAccepted is why the API server did not accept the Job just now; empty otherwise.
	NotAccepted string

	Condition    metav1.Condition // the Succeeded condition to be; of a finished Suite, the one it has; none with CreateJob
	SupersededBy string
	Again        time.Duration // look again after this, even if nothing changes; 0: no need
}

// Decide says what to do about one Suite. It steers by what exists, never by how far it thinks it
// came, so that it may be called at any time, any number of times, and after a crash at any line.
//
// What holds whatever the interleaving, and is checked in the tests:
//   - The newest Suite of a stream is never superseded, nor are its siblings: of the newest
//     notification that a stream knows, every Suite runs.
//   - A finished Suite never changes how it ended.
//   - A Suite has at most one Job, and no Job once it is canceled or superseded.
//   - A run starts only when every older run of its stream, but for its siblings, has ended and its pods are gone.
//   - Whatever has not ended is waiting for something that its message names.
func Decide(o Observation, now time.Time) Decision {
	d := decide(o, now)
	if o.Job != nil && !Ended(d.Condition) && !d.DeleteSuite {
		d.Again = sooner(d.Again, watchJob(o, now))
	}
	return d
}

func decide(o Observation, now time.Time) Decision {
	switch {
	case o.Suite.Finished():
		return afterEnd(o, now)
	case o.Job != nil && Ended(o.Outcome) && o.Job.DeletionTimestamp == nil:
		return Decision{Condition: o.Outcome}
	case o.Stopping.Lost != "":
		return Decision{Condition: v1alpha1.Error(o.Stopping.Lost)}
	case o.Suite.DeletionTimestamp != nil:
		return stop(o, v1alpha1.Canceled("The Suite was deleted."), now)
	case supersededBy(o) != "":
		by := supersededBy(o)
		d := stop(o, v1alpha1.Superseded(fmt.Sprintf("Superseded by %s, a newer deployment of the same stream.", by)), now)
		d.SupersededBy = by
		return d
	case o.Suite.Spec.Cancel:
		return stop(o, v1alpha1.Canceled(canceledMessage(o.Suite)), now)
	case overdue(o, now):
		return stop(o, v1alpha1.TimedOut(fmt.Sprintf("The run took longer than its timeout of %s, and Kubernetes did not end its Job.", brief(timeLimit(o)))), now)
	case o.Job != nil:
		return Decision{Condition: o.Outcome}
	case o.Suite.Status.JobName != "":
		return stop(o, v1alpha1.Error(fmt.Sprintf(
			"The Job %s was deleted before it ended. Notify again, or create another Suite, to repeat the run.", o.Suite.Status.JobName)), now)
	default:
		return start(o, now)
	}
}

// Ended reports whether a Succeeded condition is final.
func Ended(c metav1.Condition) bool { return c.Status != "" && c.Status != metav1.ConditionUnknown }

// supersededBy names the newest Suite of the stream, where that is newer than the observed one and answers
// another notification, or else the one that its status names: what was superseded stays so. A stale view
// of the stream can only hide a newer Suite, which delays the end of this one.
func supersededBy(o Observation) string {
	if newer := newerThan(o.Suite, o.Stream); newer != nil {
		return newer.Name
	}
	return o.Suite.Status.SupersededBy
}

func canceledMessage(s *v1alpha1.Suite) string {
	if who := plaintext.Line(s.Annotations[v1alpha1.AnnotationCanceledBy], maxCanceledBy); who != "" {
		return fmt.Sprintf("Canceled by %s.", who)
	}
	return "Canceled by setting spec.cancel."
}

// start creates the Job, or says what it waits for.
func start(o Observation, now time.Time) Decision {
	older := unfinishedBefore(o.Suite, o.Stream)
	switch {
	case o.Trigger == nil:
		return missing(o, now, fmt.Sprintf("Trigger %q", o.Suite.Spec.Trigger.Name))
	case o.Environment == nil:
		return missing(o, now, fmt.Sprintf("Environment %q", o.Suite.Spec.Environment))
	case o.Team == nil:
		return Decision{Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the namespace %q to belong to exactly one Team. Create the Team, or correct spec.namespace of the Teams that claim it.", o.Suite.Namespace))}
	case o.Team.Spec.Suspended:
		return Decision{Condition: v1alpha1.Queued("The team is suspended; the run starts when it no longer is.")}
	case older != nil:
		return Decision{Condition: v1alpha1.Queued(fmt.Sprintf("Waiting for the older run %s of the same stream to stop.", older.Name))}
	case o.Place > 0 && (o.Trigger.Spec.Inputs == nil || !WaitsForInputs(o.Suite)):
		return Decision{Condition: v1alpha1.Queued(placeMessage(o.Place))}
	case o.Trigger.Spec.Inputs != nil:
		return startWithInputs(o, now)
	default:
		return Decision{CreateJob: true}
	}
}

func placeMessage(place int) string {
	if place > exactPlaces {
		return fmt.Sprintf("Waiting for a slot, with more than %d runs ahead.", exactPlaces)
	}
	return fmt.Sprintf("Waiting for a slot, at place %d of the queue.", place)
}

// missing waits a little for what may only be late, or be seen late, and then ends the run.
func missing(o Observation, now time.Time, what string) Decision {
	if now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now)) < appearWithin {
		return Decision{
			Missing:   what,
			Condition: v1alpha1.Queued(fmt.Sprintf("Waiting for the %s, which does not exist.", what)),
			Again:     appearEvery,
		}
	}
	if o.Recreated {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf("The %s was deleted and recreated after this notification. Notify again.", what))}
	}
	return Decision{Condition: v1alpha1.Error(fmt.Sprintf("The %s does not exist. Create it and notify again.", what))}
}

// afterEnd clears up: a Job that outlived the end of its Suite is stopped, and in the end the Suite
// is deleted, which deletes its Job too.
func afterEnd(o Observation, now time.Time) Decision {
	d := Decision{Condition: Succeeded(o.Suite), SupersededBy: o.Suite.Status.SupersededBy}
	d.DeleteJob = o.Job != nil && !Ended(o.Outcome) && o.Job.DeletionTimestamp == nil
	if completed := o.Suite.Status.CompletionTime; completed != nil {
		d.Again = completed.Add(ttl(o)).Sub(now)
		d.DeleteSuite = d.Again <= 0 && !d.DeleteJob && o.Suite.DeletionTimestamp == nil
	}
	if d.DeleteJob {
		d.Again = max(d.Again, time.Second) // no event tells that the Job is gone where it lost its label
	}
	return d
}

// Succeeded is the condition that carries the Suite's life; empty before anybody looked at the Suite.
func Succeeded(s *v1alpha1.Suite) metav1.Condition {
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded {
			return c
		}
	}
	return metav1.Condition{}
}

// ttl is the Suite's own: neither the deletion of its Trigger nor a later change of it makes a run that
// exists go earlier.
func ttl(o Observation) time.Duration {
	switch {
	case o.Suite.Spec.TTLAfterFinished != nil:
		return o.Suite.Spec.TTLAfterFinished.Duration
	case o.Trigger != nil && o.Trigger.Spec.Retention.TTLAfterFinished != nil:
		return o.Trigger.Spec.Retention.TTLAfterFinished.Duration
	default:
		return DefaultTTL
	}
}

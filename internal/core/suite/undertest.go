package suite

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

// UnderTest is what the Environment of a run has, where it names workloads.
type UnderTest struct {
	Start []v1alpha1.TestedWorkload // when the Job was created; empty: the Environment named no workloads

	// The results of CompareWorkloads.
	Tested     *v1alpha1.UnderTest // nil: not done
	Unreadable string              // a sentence: why the Environment cannot be read at the moment
	Moved      bool                // the Environment has another commit of the repository than the notified one
	Another    string              // a sentence: which other commit was under test from start to end; empty: none is known
	Gone       bool                // the Environment was deleted

	Repeat Repeat // the result of RepeatRun
}

// Compared takes what was under test. A change that was recorded before the run is repeated stays: it may have been changed back since.
func (o *Observation) Compared(tested *v1alpha1.UnderTest) {
	if before := o.Suite.Status.UnderTest; before != nil && before.Changed != "" {
		tested = before
	}
	o.UnderTest.Tested = tested
}

// readWithin outlasts an outage of the API server, or of a webhook that converts objects. Then nobody knows what was tested, and the run ends.
const readWithin = 10 * time.Minute

// NotCompared takes why the Environment cannot be read, as a sentence.
func (o *Observation) NotCompared(problem string, now time.Time) {
	if sinceJobEnded(*o, now) < readWithin {
		o.UnderTest.Unreadable = plaintext.Line(problem, maxUnreadable)
		return
	}
	o.Compared(&v1alpha1.UnderTest{Workloads: o.UnderTest.Start, Changed: plaintext.Line(problem, maxUnreadable)})
}

const maxUnreadable = 1024 // messages of the API server may be long, and conditions are bounded

// sinceJobEnded is long for a Job that is gone.
func sinceJobEnded(o Observation, now time.Time) time.Duration {
	if o.Job == nil {
		return readWithin
	}
	var end time.Time
	for _, c := range o.Job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			end = c.LastTransitionTime.Time
		}
	}
	if end.IsZero() { // its pods were stopped
		end = o.Stopping.Requested
	}
	return min(max(now.Sub(end), 0), readWithin)
}

// Repeat is what came of the creation of the run that repeats another one.
type Repeat struct {
	Run     string // its name
	Problem string // a sentence: why there is none
}

// compare decides that a run is Inconclusive if what it tested changed, or never was what was notified, whatever its tests said.
func compare(o Observation, d Decision, now time.Time) Decision {
	verdict := d.Condition.Reason == v1alpha1.ReasonPassed || d.Condition.Reason == v1alpha1.ReasonFailed || d.Condition.Reason == v1alpha1.ReasonTimedOut
	switch {
	case o.Suite.Finished() || !verdict || len(o.UnderTest.Start) == 0:
		return d
	case o.UnderTest.Unreadable != "":
		wait := min(max(sinceJobEnded(o, now)/4, createRetryMin), createRetryMax)
		return Decision{Condition: v1alpha1.Running(endedMessage + " " + o.UnderTest.Unreadable + " It is tried again."), RequeueAfter: wait}
	case o.UnderTest.Tested == nil:
		d.Action, d.Condition = CompareWorkloads, v1alpha1.Running(endedMessage)
		return d
	case o.UnderTest.Tested.Changed != "":
		return repeat(o, d, now)
	case o.UnderTest.Another != "":
		d.Condition = v1alpha1.Inconclusive("What was tested is not what was notified: " + o.UnderTest.Another +
			" Let the Trigger wait for its version, with ready: {}, and notify again.")
		return d
	default:
		return d
	}
}

const endedMessage = "The tests have ended."

// repeat first records what changed, and which run repeats this one, so that a later look at the Environment cannot make this one pass. That
// write fails if this run was notified again: then its repetition is newer, too.
func repeat(o Observation, d Decision, now time.Time) Decision {
	why := notRepeated(o)
	next, problem := RepeatOf(o.Suite, o.Trigger, now)
	switch why = cmp.Or(why, problem, o.UnderTest.Repeat.Problem); {
	case why != "":
	case o.Suite.Status.RepeatedBy != next.Name:
		return Decision{Condition: v1alpha1.Running(endedMessage), RepeatedBy: next.Name, RequeueAfter: time.Nanosecond}
	case o.UnderTest.Repeat.Run == "":
		return Decision{Condition: v1alpha1.Running(endedMessage), Action: RepeatRun}
	default:
		why = "The run " + next.Name + " repeats it."
	}
	d.Condition = v1alpha1.Inconclusive("What was tested changed meanwhile: " + o.UnderTest.Tested.Changed + " " + why)
	return d
}

// notRepeated returns why an Inconclusive run is not repeated, as a sentence, or "".
func notRepeated(o Observation) string {
	switch newer := supersededBy(o); {
	case newer != "":
		return "It is not repeated, because " + newer + " tests a newer deployment."
	case Unwanted(o):
		return "It is not repeated, because it was to be stopped."
	case o.UnderTest.Gone:
		return "It is not repeated, because its Environment was deleted."
	case o.UnderTest.Moved:
		return "It is not repeated, because another commit was deployed: the run of that one counts, if it was notified."
	case o.Suite.Annotations[v1alpha1.AnnotationRepeats] != "":
		return "It repeated a run already. Wait until the deployments have settled, and notify again."
	default:
		return ""
	}
}

// backdated is how much earlier than its creation a repetition counts as received, so that it supersedes no deployment whose notification
// came just before it. It is less than MaxReceiptAge, beyond which the creation counts.
const backdated = v1alpha1.MaxReceiptAge - 5*time.Second

// RepeatOf returns the attempt that repeats an Inconclusive run, or why there can be none, as a sentence. It belongs to the same notification,
// so that it supersedes none of its siblings.
func RepeatOf(s *v1alpha1.Suite, t *v1alpha1.Trigger, now time.Time) (next *v1alpha1.Suite, problem string) {
	next, problem = NextAttempt(s, t, "")
	if problem != "" {
		return nil, problem
	}
	delete(next.Annotations, v1alpha1.AnnotationRerunBy)
	next.Annotations[v1alpha1.AnnotationRepeats] = s.Name
	next.Annotations[AnnotationRequestID] = s.Annotations[AnnotationRequestID]
	if s.Scheduled() { // it supersedes no deployment either
		next.Annotations[v1alpha1.AnnotationScheduledFor] = s.Annotations[v1alpha1.AnnotationScheduledFor]
	}
	received := s.LastNotified().Add(time.Microsecond)
	if earliest := now.Add(-backdated); received.Before(earliest) {
		received = earliest
	}
	next.Spec.ReceivedAt = new(metav1.NewMicroTime(received.UTC().Truncate(time.Microsecond)))
	return next, ""
}

// RepetitionProblem returns why an existing Suite is not the desired repetition of a run, as a sentence, or "". A notification may have created
// the attempt meanwhile. One that ended before, or tested another deployment of the commit, must not answer for the run.
func RepetitionProblem(existing, desired, of *v1alpha1.Suite) string {
	ours := existing.Annotations[v1alpha1.AnnotationRepeats] == of.Name
	switch {
	case !SameRun(existing, desired), len(Differences(existing, desired)) > 0:
		return "It is not repeated, because the name " + existing.Name + " belongs to another Suite. Notify again."
	case existing.DeletionTimestamp != nil:
		return "It is not repeated, because its next attempt, " + existing.Name + ", is being deleted. Notify again."
	case !ours && (existing.Finished() || Compare(existing, of) < 0):
		return "It is not repeated, because its next attempt, " + existing.Name + ", was there before. Notify again, and request a rerun."
	default:
		return ""
	}
}

// setUnderTest records what the Job remembers, and at the end what was compared.
func setUnderTest(s *v1alpha1.Suite, o Observation, d Decision) {
	switch {
	case d.RepeatedBy != "":
		s.Status.UnderTest, s.Status.RepeatedBy = o.UnderTest.Tested, d.RepeatedBy
	case s.Finished() && o.UnderTest.Tested != nil:
		s.Status.UnderTest, s.Status.RepeatedBy = o.UnderTest.Tested, o.UnderTest.Repeat.Run
	case s.Status.UnderTest == nil && o.Job != nil && len(o.UnderTest.Start) > 0: // an attempt to create the Job that failed started nothing
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: o.UnderTest.Start}
	}
}

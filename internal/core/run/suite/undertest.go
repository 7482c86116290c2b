package suite

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
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
	end := jobEnd(o)
	if end.IsZero() { // its pods were stopped
		end = o.Stopping.Requested
	}
	return min(max(now.Sub(end), 0), readWithin)
}

// jobEnd returns when the Job ended by itself, or the zero time.
func jobEnd(o Observation) (end time.Time) {
	if o.Job == nil {
		return end
	}
	for _, c := range o.Job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			end = c.LastTransitionTime.Time
		}
	}
	return end
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

// repeat records what changed with the first step, so that a later look at the Environment cannot make this run pass.
func repeat(o Observation, d Decision, now time.Time) Decision {
	if o.Ledger == nil {
		return readLedger()
	}
	step, why := repetition(o, notRepeated(o), now)
	if step != nil {
		step.Condition = v1alpha1.Running(endedMessage)
		return *step
	}
	if why == "" {
		why = "The run " + o.Repeat.Run + " repeats it."
	}
	d.Condition = v1alpha1.Inconclusive("What was tested changed meanwhile: " + o.UnderTest.Tested.Changed + " " + why)
	return d
}

// notRepeated returns why an Inconclusive run is not repeated, as a sentence, or "".
func notRepeated(o Observation) string {
	there := replaced(o.Suite, o.Ledger)
	switch newer := supersededBy(o); {
	case newer != "":
		return "It is not repeated, because " + newer + " tests a newer deployment."
	case Unwanted(o):
		return "It is not repeated, because it was to be stopped."
	case o.UnderTest.Gone:
		return "It is not repeated, because its Environment was deleted."
	case o.UnderTest.Moved:
		return "It is not repeated, because another commit was deployed: the run of that one counts, if it was notified."
	case there != "":
		return "It is not repeated, because " + there + "."
	case o.Suite.RepeatsInconclusive():
		return "It repeated a run already. Wait until the deployments have settled, and notify again."
	default:
		return ""
	}
}

// setUnderTest records what the Job remembers, and at the end what was compared.
func setUnderTest(s *v1alpha1.Suite, o Observation, d Decision) {
	switch {
	case o.UnderTest.Tested != nil && (d.RepeatedBy != "" || s.Finished()):
		s.Status.UnderTest = o.UnderTest.Tested
	case s.Status.UnderTest == nil && o.Job != nil && len(o.UnderTest.Start) > 0: // an attempt to create the Job that failed started nothing
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: o.UnderTest.Start}
	}
}

// remained decides that a run is Inconclusive if it passed, and something else was deployed to its place since its tests began: some of them may
// have tested that. Where workloads are of its repository, compare decides.
func remained(o Observation, d Decision) Decision {
	if o.Suite.Finished() || d.Condition.Reason != v1alpha1.ReasonPassed {
		return d
	}
	if o.Ledger == nil {
		return readLedger()
	}
	if o.Ledger.Removed(o.Suite) {
		d.Condition = v1alpha1.Inconclusive(fmt.Sprintf("The tests passed, but the Environment %s was deleted and created again before they ended. "+
			"Notify what is deployed there now.", o.Suite.Spec.Environment))
		return d
	}
	begin := o.Suite.DeployedAt().Time
	if at := startTime(o); at != nil {
		begin = at.Time
	}
	end := jobEnd(o)
	if !end.IsZero() {
		end = end.Add(time.Second) // it has whole seconds
	}
	if other := o.Ledger.Interrupted(o.Suite, begin, end, len(o.UnderTest.Start) > 0); other != nil {
		d.Condition = v1alpha1.Inconclusive(fmt.Sprintf("The tests passed, but %s was deployed to %s before they ended, so that they may have tested that. %s",
			named(other.Commit), o.Suite.Spec.Environment, whatToDo(o.Suite, other)))
	}
	return d
}

func readLedger() Decision {
	return Decision{Action: ReadLedger, Condition: v1alpha1.Running(endedMessage)}
}

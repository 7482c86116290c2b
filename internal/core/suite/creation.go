package suite

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

const (
	// The pauses before another attempt to create a Job that the API server did not accept. The first are
	// short, because most causes pass within seconds; the last bound how long a run waits once it would be accepted.
	createRetryMin = time.Second
	createRetryMax = 15 * time.Second

	// nameInUseEvery is how often to check whether the Job of an earlier Suite is gone, which no event reports.
	nameInUseEvery = 2 * time.Second
)

// notCreated is what to do about a run whose Job could not be created.
func notCreated(o Observation, now time.Time) Decision {
	switch o.Creation.Result {
	case Impossible:
		return Decision{Condition: v1alpha1.Error(o.Creation.Detail)}
	case Rejected:
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The API server refused the Job: %s. Fix the jobTemplate of Trigger %q and notify again.", o.Creation.Detail, o.Trigger.Name))}
	case NameInUse:
		return Decision{Condition: v1alpha1.Queued("Waiting for the Job of an earlier Suite of this name to be deleted."), RequeueAfter: nameInUseEvery}
	case NameTaken:
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"A Job %q that belongs to something else is in the way. Delete it and notify again.", o.Suite.Name))}
	default:
		return notAccepted(o, now)
	}
}

// notAccepted retries where the API server does not accept the Job for now: a quota is full, a webhook is
// down, a role is missing. The run keeps no slot meanwhile, and ends after as long as it might have run.
func notAccepted(o Observation, now time.Time) Decision {
	why := o.Creation.Detail
	waited, patience := now.Sub(since(o.Suite, v1alpha1.ConditionJobAccepted, now)), o.Trigger.RunTimeout()
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The API server did not accept the Job for %s: %s. Correct that, or the jobTemplate of Trigger %q, and notify again.", plaintext.Duration(patience), why, o.Trigger.Name))}
	}
	return Decision{
		Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the API server to accept the Job: %s. The run ends as Error if that takes longer than %s.", why, plaintext.Duration(patience))),
		RequeueAfter: min(max(waited/4, createRetryMin), createRetryMax, patience-waited),
	}
}

// YieldsSlot reports whether a waiting run could not start even with a slot when that was last tried: its
// files could not be looked up, or its Job was not accepted. Others may overtake it until its next attempt.
func YieldsSlot(s *v1alpha1.Suite) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted)
	return waitsForInputs(s) || (c != nil && c.Reason == v1alpha1.ReasonJobRefused)
}

// setJobAccepted records since when the Job is not accepted. A run that waits for the slot of its next
// attempt keeps that time.
func setJobAccepted(s *v1alpha1.Suite, o Observation, d Decision, now time.Time) {
	waiting := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted) != nil
	switch {
	case o.Job != nil:
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionJobAccepted)
	case Ended(d.Condition):
	case o.Creation.Result == NotAccepted:
		setCondition(s, v1alpha1.JobNotAccepted(v1alpha1.ReasonJobRefused, o.Creation.Detail+"."), now)
	case waiting:
		setCondition(s, v1alpha1.JobNotAccepted(v1alpha1.ReasonJobWaiting, "The Job was not accepted, and is tried again at its turn."), now)
	}
}

// since when a condition of the Suite is False; now where it is not.
func since(s *v1alpha1.Suite, condition string, now time.Time) time.Time {
	c := meta.FindStatusCondition(s.Status.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionFalse {
		return now
	}
	return c.LastTransitionTime.Time
}

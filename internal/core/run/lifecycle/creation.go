package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// The pauses before another attempt to create a Job: short at first, because most causes pass within seconds.
	createRetryMin = time.Second
	createRetryMax = 15 * time.Second

	nameInUseEvery = 2 * time.Second // how often to check whether the Job of an earlier Suite is gone, which no event reports
)

func notCreated(o Observation, now time.Time) Decision {
	switch o.Creation.Result {
	case Impossible:
		return Decision{Condition: v1alpha1.Error(o.Creation.Detail)}
	case NotWhole:
		return Decision{Condition: v1alpha1.Inconclusive(o.Creation.Detail)}
	case Rejected:
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The API server refused the Job: %s. Fix the jobTemplate of %s and notify again.", o.Creation.Detail, sources(o.Trigger)))}
	case NameInUse:
		return Decision{Condition: v1alpha1.Queued("Waiting for the Job of an earlier Suite of this name to be deleted."),
			RequeueAfter: nameInUseEvery}
	case NameTaken:
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"A Job %q that belongs to something else is in the way. Delete it and notify again.", o.Suite.Name))}
	default:
		return notAccepted(o, now)
	}
}

// sources names what a Job is made from.
func sources(t *v1alpha1.Trigger) string {
	if t.Spec.TriggerClassName == "" {
		return fmt.Sprintf("Trigger %q", t.Name)
	}
	return fmt.Sprintf("Trigger %q or TriggerClass %q", t.Name, t.Spec.TriggerClassName)
}

// notAccepted retries, without a slot, for as long as the run might have taken: a quota, a webhook or a role may change.
func notAccepted(o Observation, now time.Time) Decision {
	why := o.Creation.Detail
	waited, patience := now.Sub(since(o.Suite, v1alpha1.ConditionJobAccepted, now)), o.Trigger.RunTimeout()
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The API server did not accept the Job for %s: %s. Correct that, or the jobTemplate of %s, and notify again.",
			plaintext.Duration(patience), why, sources(o.Trigger)))}
	}
	return Decision{
		Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the API server to accept the Job: %s. The run ends as Error if that takes longer than %s.", why,
			plaintext.Duration(patience))),
		RequeueAfter: min(max(waited/4, createRetryMin), createRetryMax, patience-waited),
	}
}

// setJobAccepted records since when the Job is not accepted, also while the run waits for the slot of its next attempt.
func setJobAccepted(s *v1alpha1.Suite, o Observation, d Decision, now time.Time) {
	waiting := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted) != nil
	switch {
	case o.Job != nil:
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionJobAccepted)
	case Ended(d.Condition):
	case o.Creation.Result == NotAccepted:
		setCondition(s, v1alpha1.JobNotAccepted(v1alpha1.ReasonJobRefused, o.Creation.Detail+"."), now)
	case waiting:
		setCondition(s, v1alpha1.JobNotAccepted(v1alpha1.ReasonJobWaiting,
			"The Job was not accepted, and is tried again once the run has a slot."), now)
	}
}

// since returns when a condition of the Suite became False, or now.
func since(s *v1alpha1.Suite, condition string, now time.Time) time.Time {
	c := meta.FindStatusCondition(s.Status.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionFalse {
		return now
	}
	return c.LastTransitionTime.Time
}

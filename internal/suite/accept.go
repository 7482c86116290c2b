package suite

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The pauses before a Job is tried again that the API server did not accept. The first are short, as most
// causes pass within seconds; the last bound how long a run waits for nothing once it would be accepted.
const (
	acceptAgainMin = time.Second
	acceptAgainMax = 15 * time.Second
)

// NotAccepted is what to do about a run whose Job the API server does not accept for now: a quota is
// full, a webhook is down, a role is missing. The run keeps no slot while it waits, tries again, and ends
// once it was refused for as long as it might have run. why is a clause, without a full stop.
func NotAccepted(o Observation, why string, now time.Time) Decision {
	waited, patience := now.Sub(since(o.Suite, v1alpha1.ConditionJobAccepted, now)), o.Trigger.RunTimeout()
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The API server did not accept the Job for %s: %s. Correct that, or the jobTemplate of Trigger %q, and notify again.", brief(patience), why, o.Trigger.Name))}
	}
	return Decision{
		NotAccepted: why,
		Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the API server to accept the Job: %s. The run ends as Error if that takes longer than %s.", why, brief(patience))),
		Again: min(max(waited/4, acceptAgainMin), acceptAgainMax, patience-waited),
	}
}

// LeavesTurn reports whether a waiting run could not start with a slot either, when that was last tried:
// its files cannot be looked up, or its Job was not accepted. Until it tries again, others may overtake it.
func LeavesTurn(s *v1alpha1.Suite) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted)
	return WaitsForInputs(s) || (c != nil && c.Reason == v1alpha1.ReasonJobRefused)
}

// setJobAccepted records since when the Job is not accepted. A run that waits for its turn to try again
// keeps that time.
func setJobAccepted(s *v1alpha1.Suite, o Observation, d Decision, now time.Time) {
	waits := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted) != nil
	switch {
	case o.Job != nil:
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionJobAccepted)
	case d.NotAccepted != "":
		setCondition(s, v1alpha1.JobNotAccepted(v1alpha1.ReasonJobRefused, d.NotAccepted+"."), now)
	case waits && !Ended(d.Condition):
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

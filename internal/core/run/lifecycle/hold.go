package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// environmentHeld waits for the end of a hold, with a timer: nothing else reports it.
func environmentHeld(o Observation, now time.Time) *Decision {
	until := o.Environment.HeldUntil(now)
	if until.IsZero() {
		return nil
	}
	message := fmt.Sprintf("Waiting: %s is on hold until %s", o.Environment.Name, queue.HoldEnd(until, now))
	if why := queue.HoldWhy(o.Environment); why != "" {
		message += " (" + why + ")"
	}
	return &Decision{OnHold: true, Condition: v1alpha1.Queued(message + "."), RequeueAfter: until.Sub(now)}
}

// environmentSettles waits with a timer, unless a hold ends later. A deployment that comes meanwhile does not change the message, which
// would cost a write of every run that waits: the message stays true, and the timer finds the new time.
func environmentSettles(o Observation, now time.Time) *Decision {
	at, _ := o.Burst.Settled(o.Environment)
	if !at.After(now) || !at.After(o.Environment.HeldUntil(now)) {
		return nil
	}
	message := fmt.Sprintf("Waiting until %s has settled: %s.", o.Environment.Name, o.Burst.Describe(o.Environment, now))
	return &Decision{OnHold: true, Condition: v1alpha1.Queued(message), RequeueAfter: at.Sub(now)}
}

// setHold also forgets since when the run waits for anything else: that is not tried during a hold, and must not end the run after it.
func setHold(s *v1alpha1.Suite, d Decision, now time.Time) {
	switch {
	case d.OnHold:
		setCondition(s, v1alpha1.Held(), now)
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionJobAccepted)
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionInputsReady)
	case s.OnHold():
		setCondition(s, v1alpha1.Released(), now)
	}
}

package suite

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxHoldReason is the bound of the schema, in bytes of the longest characters.
const maxHoldReason = 4 * 256

// environmentHeld waits for the end of a hold, with a timer: nothing else reports it.
func environmentHeld(o Observation, now time.Time) *Decision {
	until := o.Environment.HeldUntil(now)
	if until.IsZero() {
		return nil
	}
	message := fmt.Sprintf("Waiting: %s is on hold until %s", o.Environment.Name, HoldEnd(until, now))
	if why := HoldWhy(o.Environment); why != "" {
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

// HoldEnd names the end of a hold, with its day unless that is today.
func HoldEnd(until, now time.Time) string { return moment(until, now, "15:04 UTC") }

func moment(t, now time.Time, layout string) string {
	t, now = t.UTC(), now.UTC()
	if t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format(layout)
	}
	return t.Format(layout + " on 2 January 2006")
}

// HoldWhy says why an Environment is on hold, and who put it there, as far as somebody has said so.
func HoldWhy(e *v1alpha1.Environment) string {
	var why []string
	if reason := plaintext.Line(e.Spec.Hold.Reason, maxHoldReason); reason != "" {
		why = append(why, reason)
	}
	if who := plaintext.Line(e.Annotations[v1alpha1.AnnotationHeldBy], maxWho); who != "" {
		why = append(why, "by "+who)
	}
	return strings.Join(why, ", ")
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

package suite

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

// Redeployed is what the notifications say that were kept, also those of which there is no Suite.
type Redeployed struct {
	Unavailable string // a clause: why they cannot be read at the moment
	NotWhole    string // a sentence: what may have been deployed meanwhile, or why nobody knows; empty: nothing was
}

// notedWithin is after how long notifications are known: each replica saves those of the last 10 s, which takes a moment.
const notedWithin = 15 * time.Second

// unlessRedeployed decides about a run that passes together with others, unless a notification without a Suite shows another deployment.
func unlessRedeployed(o Observation, passed Decision, now time.Time) Decision {
	ended, f := sinceJobEnded(o, now), o.Redeployed
	switch {
	case !o.NotesDeployments:
		return passed
	case ended < notedWithin:
		return Decision{Condition: v1alpha1.Running(endedMessage + " Whether something else was deployed meanwhile is known in a few seconds."), RequeueAfter: notedWithin - ended}
	case f == nil:
		return Decision{Action: FindDeployment, Condition: v1alpha1.Running(endedMessage)}
	case f.Unavailable != "" && ended < readWithin:
		return Decision{
			Condition: v1alpha1.Running(fmt.Sprintf("%s Whether something else was deployed meanwhile cannot be read: %s. It is tried again for up to %s.",
				endedMessage, f.Unavailable, plaintext.Duration(readWithin))),
			RequeueAfter: min(max(ended/4, storeRetryMin), storeRetryMax),
		}
	case f.Unavailable != "":
		passed.Condition = v1alpha1.Inconclusive(fmt.Sprintf("Nobody knows whether something else was deployed to the Environment since, because it cannot be read: %s. "+
			"Repeat all tests: postflight runs rerun %s", f.Unavailable, o.Suite.Spec.OnlyFailedOf.Name))
	case f.NotWhole != "":
		passed.Condition = v1alpha1.Inconclusive(fmt.Sprintf("%s Repeat all tests: postflight runs rerun %s", f.NotWhole, o.Suite.Spec.OnlyFailedOf.Name))
	}
	return passed
}

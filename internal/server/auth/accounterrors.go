package auth

import (
	"fmt"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// What a sender learns of its token is what the token says itself, and whether it is good.
var (
	errOtherAudience = Refused("the ServiceAccount token is for another audience",
		"The ServiceAccount token is not for Postflight. Mount one with the audience \""+serviceaccount.Audience+"\", and send that.")
	errAccountTokenExpired = Refused("the ServiceAccount token has expired",
		"The ServiceAccount token has expired. Read its file again for each request: the kubelet replaces it there.")
	errBadAccountToken = Refused("the ServiceAccount token is not good",
		"This cluster knows no such ServiceAccount token, or its pod or ServiceAccount is gone. Send the token of a pod that exists.")
)

// accountRefusal tells an account what to do. It has the same words for a forbidden Team and for a missing one.
func accountRefusal(a serviceaccount.Account, t serviceaccount.Target, verdict serviceaccount.Verdict, actions []grant.Action) *Error {
	may := fmt.Sprintf("%s suites.postflight.dev", plaintext.Alternatives(serviceaccount.VerbsOf(actions)))
	asked := plaintext.Line(t.Asked, maxShownTeam)
	switch verdict {
	case serviceaccount.TeamSuspended:
		return ErrTeamSuspended
	case serviceaccount.NoTeam:
		return Forbidden("no Team owns the namespace of the ServiceAccount", fmt.Sprintf("No Team owns the namespace %s of the "+
			"ServiceAccount %s. Name the Team in %s, or ask your operator for a Team.", a.Namespace, a.Name, headerAdvice))
	case serviceaccount.ClaimedTwice:
		return Forbidden("two Teams claim the namespace", fmt.Sprintf("Two Teams claim the namespace %s, so nothing can be done there. "+
			"Ask your operator: one of the Teams must give it up.", t.Namespace))
	case serviceaccount.NoSuchTeam:
		return Forbidden("there is no such Team", fmt.Sprintf("There is no Team %q that owns a namespace. "+
			"Name another one in %s.", asked, headerAdvice))
	}
	if t.Asked != "" {
		return Forbidden("the ServiceAccount may not do this for the Team, or there is none", fmt.Sprintf("The ServiceAccount %s may not %s "+
			"in the namespace of a Team %q, or there is no such Team. Check %s, or bind the ClusterRole postflight-notifier "+
			"to the ServiceAccount in that namespace.", a, may, asked, headerAdvice))
	}
	return Forbidden("the ServiceAccount may not do this", fmt.Sprintf("The ServiceAccount %s may not %s in the namespace %s. "+
		"Bind a role that allows it, such as the ClusterRole postflight-notifier to notify and read.", a, may, t.Namespace))
}

// headerAdvice also tells people who use the command line how to set it.
const headerAdvice = "the header " + teamHeader + ", as postflight does with $POSTFLIGHT_TEAM"

// maxShownTeam is the longest name of a Team.
const maxShownTeam = 63

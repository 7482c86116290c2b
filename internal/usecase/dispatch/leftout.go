package dispatch

import (
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// leftOut returns nothing for a schedule, which concerns one Trigger.
func (o *operation) leftOut() match.LeftOut {
	if o.LeftOut == nil || o.Origin.trigger != nil {
		return match.LeftOut{}
	}
	return o.LeftOut(o.namespace)
}

// findLeftOut is called after matching, with what was left out before it: the index loses Triggers later, and gets them later, than the answer
// of LeftOut changes.
func (o *operation) findLeftOut(before match.LeftOut) (match.LeftOut, error) {
	left := before.Union(o.leftOut())
	switch {
	case len(left.Names) == 0 && left.Unknown:
		return left, &Error{Kind: Overloaded, Message: "The server has not read all Triggers of the team yet, because there are very many, " +
			"so it is not known which of them match, and no run was created. Send the notification again in a few seconds."}
	case len(left.Names) > 0 && len(o.Grant.Environments) > 0: // a name would tell of what the sender may not reach
		return left, &Error{Kind: Forbidden, Message: fmt.Sprintf("You may notify the Environments %s only, and which Environments this reaches "+
			"is not known: some Triggers of the team take too much of the manager's memory. Nothing was changed. "+
			"Ask your team for smaller Triggers; their condition Ready says which.", strings.Join(o.Grant.Environments, ", "))}
	}
	return left, nil
}

// leftOutResults keep a gate from being green without the tests of these Triggers.
func leftOutResults(left match.LeftOut) []TriggerResult {
	results := make([]TriggerResult, len(left.Names))
	for i, name := range left.Names {
		results[i] = TriggerResult{Trigger: name, Decision: Failed, LeftOut: true, Reason: left.Reason(i), Environment: &v1alpha1.Environment{}}
	}
	return results
}

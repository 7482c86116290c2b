package verdict

import (
	"cmp"
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// What keeps a Trigger from having a run, so that starting one is no help.
var (
	noSuchTrigger = Requirement{
		Problem: "There is no such Trigger of this Environment.",
		Advice:  "Create the Trigger, or require others: in spec.gate of the Environment, or in what asked.",
	}
	tooLarge = Requirement{
		Problem: "It is too large for the manager, so it is not known whether it should have run.",
		Advice:  "Make the Trigger smaller, or name the required Triggers in spec.gate of the Environment.",
	}
)

func notReady(t *v1alpha1.Trigger, why string) Requirement {
	return Requirement{
		Problem: "It is not Ready, so it is not known whether it should have run: " + why,
		Advice: fmt.Sprintf("Make the Trigger Ready (kubectl describe trigger %s -n %s), or name the required Triggers in spec.gate of the "+
			"Environment.", t.Name, t.Namespace),
	}
}

// Advice says what to do, as sentences; empty: nothing.
func (v Verdict) Advice() string {
	again := "Then ask again."
	if v.Replaced != nil {
		again = fmt.Sprintf("%s has %s by now, so deploy the commit there again first.", v.Environment.Name,
			suite.ShownSHA(commit.ShortSHA(v.Replaced.Revision)))
	}
	switch {
	case v.State == Passed:
		return ""
	case v.State == Failed, v.State == Withdrawn:
		return "Deploy a commit that fixes it. If the commit is not the cause, rerun " + v.decidingRuns() + ". " + again
	case v.State == Running:
		return "Wait, or use postflight gate --wait."
	case v.State == Stale && !v.Startable():
		return "Notify the deployment again, and request a rerun: only the notification has what differs. " + again
	case v.State == Stale:
		return "Start new runs with postflight gate --run. " + again
	case v.Newest == nil:
		return "Deploy the commit to " + v.Environment.Name + " and notify Postflight, or check the commit, which must be the whole SHA, " +
			"the repository and the Environment."
	case len(v.Requirements) == 0:
		return "Create a Trigger of " + v.Environment.Name + " that matches the deployment, and notify Postflight again."
	default:
		return cmp.Or(v.deciding()[0].Advice, "Start what is missing with postflight gate --run. "+again)
	}
}

// decidingRuns are the names of the runs that decide.
func (v Verdict) decidingRuns() string {
	var names []string
	for _, r := range v.deciding() {
		names = append(names, r.Run.Name)
	}
	return firstOf(names)
}

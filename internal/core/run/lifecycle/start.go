package lifecycle

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func triggerMissing(o Observation, now time.Time) *Decision {
	if o.Trigger != nil {
		return nil
	}
	return missing(o, now, fmt.Sprintf("Trigger %q", o.Suite.Spec.Trigger.Name))
}

// triggerIncomplete waits for what a Trigger inherits, which the rest of a Git commit may bring.
func triggerIncomplete(o Observation, now time.Time) *Decision {
	switch {
	case o.Incomplete == "":
		return nil
	case mayAppear(o, now):
		what := fmt.Sprintf("TriggerClass %q", o.Trigger.Spec.TriggerClassName)
		return &Decision{Missing: what, Condition: v1alpha1.Queued("Waiting for the TriggerClass. " + o.Incomplete), RequeueAfter: appearEvery}
	default:
		return condition(v1alpha1.Error(o.Incomplete + " Then notify again."))
	}
}

func environmentMissing(o Observation, now time.Time) *Decision {
	if o.Environment != nil {
		return nil
	}
	return missing(o, now, fmt.Sprintf("Environment %q", o.Suite.Spec.Environment))
}

// environmentRecreated ends a run whose Environment is another one than that of the notification.
func environmentRecreated(o Observation, _ time.Time) *Decision {
	notified := o.Suite.Spec.EnvironmentUID
	if notified == "" || o.Environment.UID == "" || notified == o.Environment.UID {
		return nil
	}
	return condition(v1alpha1.Error(
		fmt.Sprintf("The Environment %q was deleted and created again after this notification. Notify what is deployed there now.",
			o.Environment.Name)))
}

func teamUnknown(o Observation, _ time.Time) *Decision {
	if o.Team != nil {
		return nil
	}
	return condition(v1alpha1.Queued(fmt.Sprintf(
		"Waiting for the namespace %q to belong to exactly one Team. Create the Team, or delete those that claim it wrongly.",
		o.Suite.Namespace)))
}

func teamSuspended(o Observation, _ time.Time) *Decision {
	if !o.Team.Spec.Suspended {
		return nil
	}
	return condition(v1alpha1.Queued("The team is suspended; the run starts when it no longer is."))
}

func olderRunUnfinished(o Observation, _ time.Time) *Decision {
	older := suite.UnfinishedBefore(o.Suite, o.Stream)
	if older == nil {
		return nil
	}
	return condition(v1alpha1.Queued(fmt.Sprintf("Waiting for the older run %s of the same stream to stop.", older.Name)))
}

func startJob(o Observation, now time.Time) *Decision {
	var d Decision
	if o.Creation.Result == NotTried {
		d = createJob(o, now)
	} else {
		d = notCreated(o, now)
	}
	_, d.RolledOut = awaited(o)
	return &d
}

// createJob spares the store, which may be slow, while a run is queued, unless the run waits for the store anyway.
func createJob(o Observation, now time.Time) Decision {
	needsInputs, needsFailed := o.Trigger.Spec.Inputs != nil, rerunsFailed(o) && o.Failed == nil
	inputs, failed := o.Inputs, o.Failed
	switch {
	case failed != nil && failed.Unavailable != "":
		return waitForFailed(o, now)
	case failed != nil && failed.Impossible != "":
		return Decision{Condition: v1alpha1.Error(failed.Impossible)}
	case failed != nil && failed.NotWhole != "":
		return Decision{Condition: v1alpha1.Inconclusive(failed.NotWhole)}
	case needsInputs && inputs == nil && waitsForInputs(o.Suite):
		return Decision{Action: FindInputs}
	case inputs != nil && inputs.Unavailable != "":
		return waitForStore(o, now)
	case inputs != nil && inputs.problem(o.Team) != "":
		return Decision{Condition: v1alpha1.Error(inputs.problem(o.Team))}
	case needsFailed && waitsForInputs(o.Suite):
		return Decision{Action: FindFailed}
	case o.Position == nil && queue.NeedsSlot(o.Team, o.Trigger, o.Environment):
		return Decision{Action: RequestSlot}
	case o.Position != nil && o.Position.Number > 0:
		return Decision{Condition: v1alpha1.Queued(o.Position.Message(o.Suite, o.Team.Name))}
	case needsInputs && inputs == nil:
		return Decision{Action: FindInputs}
	case needsFailed:
		return Decision{Action: FindFailed}
	default:
		return Decision{Action: CreateJob}
	}
}

// missing waits for an object that may only be late, and then ends the run.
func missing(o Observation, now time.Time, what string) *Decision {
	switch {
	case mayAppear(o, now) && o.Recreated:
		return &Decision{Missing: what, RequeueAfter: appearEvery, Condition: v1alpha1.Queued(fmt.Sprintf(
			"The %s was deleted and recreated after this notification, so the run ends as Error within %s. Then notify again.", what,
			plaintext.Duration(appearWithin)))}
	case mayAppear(o, now):
		return &Decision{Missing: what, RequeueAfter: appearEvery,
			Condition: v1alpha1.Queued(fmt.Sprintf("Waiting for the %s, which does not exist.", what))}
	case o.Recreated:
		return condition(v1alpha1.Error(fmt.Sprintf("The %s was deleted and recreated after this notification. Notify again.", what)))
	default:
		return condition(v1alpha1.Error(fmt.Sprintf("The %s does not exist. Create it and notify again.", what)))
	}
}

// mayAppear reports whether an object that the run needs may still come.
func mayAppear(o Observation, now time.Time) bool {
	return now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now)) < appearWithin
}

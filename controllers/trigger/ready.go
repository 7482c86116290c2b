package trigger

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/schedule"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// observed is what decides whether a Trigger is Ready.
type observed struct {
	environment *v1alpha1.Environment // nil: it does not exist
	teams       []v1alpha1.Team       // that claim the namespace
	invalid     string                // what is wrong with the conditions of match, or ""
	incomplete  string                // what is wrong with its TriggerClass, or ""
	anyType     string                // that it also runs for deployments elsewhere, or ""
}

func setReady(t *v1alpha1.Trigger, o observed) {
	t.Status.ObservedGeneration = t.Generation
	ready := readyOf(t, o)
	for _, warning := range []string{o.anyType, job.ScriptWarning(t)} {
		if warning != "" && ready.Status == metav1.ConditionTrue {
			ready.Reason, ready.Message = v1alpha1.ReasonWarning, ready.Message+" "+warning
		}
	}
	ready.ObservedGeneration = t.Generation
	meta.SetStatusCondition(&t.Status.Conditions, ready)
	if ready.Reason == reasonMatchInvalid || ready.Reason == reasonScheduleInvalid { // only a change of the Trigger fixes it
		ready.Type, ready.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
		meta.SetStatusCondition(&t.Status.Conditions, ready)
	} else {
		meta.RemoveStatusCondition(&t.Status.Conditions, v1alpha1.ConditionStalled)
	}
}

const (
	reasonMatchInvalid    = "MatchInvalid"
	reasonScheduleInvalid = "ScheduleInvalid"
)

func readyOf(t *v1alpha1.Trigger, o observed) metav1.Condition {
	unowned, why := v1alpha1.OwnerProblem(t.Namespace, o.teams)
	switch {
	case o.invalid != "":
		return reconcile.NotReady(reasonMatchInvalid, o.invalid)
	case schedule.Problem(t.Spec.Schedule) != "":
		return reconcile.NotReady(reasonScheduleInvalid, schedule.Problem(t.Spec.Schedule))
	case unowned == v1alpha1.ReasonNoTeam:
		return reconcile.NotReady(unowned, fmt.Sprintf("Nothing starts a run, because %s. Create its Team, or delete the Trigger.", why))
	case unowned != "":
		return reconcile.NotReady(unowned, fmt.Sprintf("Nothing starts a run, because %s. Let only one of them claim it.", why))
	case o.environment == nil:
		return reconcile.NotReady("EnvironmentMissing", fmt.Sprintf(
			"There is no Environment %q in this namespace; notifications that match get a failure_reason. Create it.", t.Spec.Environment))
	case o.environment.Spec.Cluster != "":
		return reconcile.NotReady("EnvironmentElsewhere", fmt.Sprintf("The Environment %q is in the cluster %s; notifications that match get "+
			"a failure_reason. Move the Trigger there.", o.environment.Name, o.environment.Spec.Cluster))
	case o.incomplete != "":
		return reconcile.NotReady("Incomplete", o.incomplete)
	case v1alpha1.Owner(o.teams).Spec.Suspended:
		return reconcile.Ready("TeamSuspended", "The team is suspended, so nothing starts a run.")
	case t.Spec.Paused:
		return reconcile.Ready("Paused", "The Trigger is paused and matches no notification.")
	case t.Spec.Schedule != nil && t.Spec.Schedule.Only:
		return reconcile.Ready("Scheduled", "The Trigger waits for the times of its schedule, and matches no notification.")
	case lifecycle.WaitsForNothing(t, o.environment):
		return reconcile.Ready(v1alpha1.ReasonWarning, fmt.Sprintf(
			"The Trigger waits for notifications. Its spec.ready has no effect: name the workloads of the Environment %q in its spec, or set "+
				"ready.http.", o.environment.Name))
	default:
		return reconcile.Ready("Watching", "The Trigger waits for notifications.")
	}
}

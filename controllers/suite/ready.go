package suite

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// deploymentChanged is for runs that wait for their version, whose message says how far it is.
var deploymentChanged = builder.WithPredicates(predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Environment).Status, e.ObjectNew.(*v1alpha1.Environment).Status
		return !equality.Semantic.DeepEqual(before, after)
	},
})

// awaitingDeployment finds the runs without a Job whose Triggers wait for the workloads of an Environment. The condition of a run does not
// count: its reconcile may be about to write it, with what the Environment was before.
func (r *Reconciler) awaitingDeployment(ctx context.Context, obj client.Object) []ctrl.Request {
	log := ctrl.LoggerFrom(ctx)
	suites, err := r.suites(ctx, obj.GetNamespace(), client.MatchingFields{index.Environment: obj.GetName()})
	if err != nil {
		log.Error(err, "cannot list the runs of an Environment", "environment", obj.GetName())
		return nil
	}
	waits := map[string]bool{} // by the Trigger
	var awaiting []*v1alpha1.Suite
	for _, s := range suites {
		if s.Status.JobName != "" {
			continue
		}
		name := s.Spec.Trigger.Name
		if _, known := waits[name]; !known {
			t, err := reconcile.Shared[v1alpha1.Trigger](ctx, reconcile.Known(r), s.Namespace, name)
			if err != nil {
				log.Error(err, "cannot read the Trigger of a run", "suite", s.Name)
			}
			waits[name] = err != nil || t != nil && t.Spec.Ready.ForWorkloads()
		}
		if waits[name] {
			awaiting = append(awaiting, s)
		}
	}
	return reconcile.Requests(awaiting)
}

// withProbe lets the pods of a run ask for their version, if its Trigger says so. The problem is a sentence: why they cannot.
func (r *Reconciler) withProbe(j *batchv1.Job, o lifecycle.Observation) (probing *batchv1.Job, problem string) {
	if o.Trigger.Spec.Ready == nil || o.Trigger.Spec.Ready.HTTP == nil {
		return j, ""
	}
	if problem = job.CheckProbe(o.Suite, o.Trigger, o.Environment, r.Image); problem != "" {
		return nil, problem
	}
	return job.WithProbe(j, o.Suite, o.Trigger, o.Environment, r.Image), ""
}

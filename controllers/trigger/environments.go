package trigger

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// comesOrGoes selects lasting Environments that are created or deleted. At the start, every Trigger is reconciled anyway.
var comesOrGoes = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList && lasting(e.Object) },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(e event.DeleteEvent) bool { return lasting(e.Object) },
}

func lasting(obj client.Object) bool { return obj.(*v1alpha1.Environment).Spec.Ephemeral == nil }

// anyTypeWarning reads the Environments only for Triggers that may need it: many reconciles only count runs.
func (r *Reconciler) anyTypeWarning(ctx context.Context, t *v1alpha1.Trigger) (string, error) {
	if !match.AnyType(t) {
		return "", nil
	}
	list := &v1alpha1.EnvironmentList{}
	if err := r.List(ctx, list, client.InNamespace(t.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	return match.AnyTypeWarning(t, list.Items), nil
}

// triggersOfAnyType finds the Triggers whose warning depends on which Environments there are.
func (r *Reconciler) triggersOfAnyType(ctx context.Context, obj client.Object) (requests []ctrl.Request) {
	list := &v1alpha1.TriggerList{}
	if err := reconcile.Known(r).List(ctx, list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Triggers beside an Environment", "environment", obj.GetName())
		return nil
	}
	var affected []*v1alpha1.Trigger
	for i := range list.Items {
		if match.AnyType(&list.Items[i]) {
			affected = append(affected, &list.Items[i])
		}
	}
	return reconcile.Requests(affected)
}

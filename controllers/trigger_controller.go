package controllers

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/match"
)

// TriggerReconciler says of each Trigger whether it can match.
type TriggerReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=postflight.dev,resources=triggers/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *TriggerReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Trigger{}).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.usersOf)).
		Complete(r)
}

// Reconcile writes the Ready condition.
func (r *TriggerReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t, err := get[v1alpha1.Trigger](ctx, r, req.Namespace, req.Name)
	if err != nil || t == nil {
		return ctrl.Result{}, err
	}
	e, err := get[v1alpha1.Environment](ctx, r, t.Namespace, t.Spec.Environment)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, setReady(ctx, r, t, &t.Status.Conditions, triggerReady(t, e))
}

func triggerReady(t *v1alpha1.Trigger, e *v1alpha1.Environment) metav1.Condition {
	_, err := match.Compile(t)
	switch {
	case err != nil:
		return notReady("MatchInvalid", err.Error())
	case e == nil:
		return notReady("EnvironmentMissing", fmt.Sprintf(
			"There is no Environment %q in this namespace; notifications that match get a failure_reason. Create it.", t.Spec.Environment))
	case t.Spec.Paused:
		return ready("Paused", "The Trigger is paused and matches no notification.")
	default:
		return ready("Watching", "The Trigger waits for notifications.")
	}
}

// usersOf are the Triggers whose Environment appeared or went.
func (r *TriggerReconciler) usersOf(ctx context.Context, obj client.Object) []ctrl.Request {
	list := &v1alpha1.TriggerList{}
	err := r.List(ctx, list, client.InNamespace(obj.GetNamespace()),
		client.MatchingFields{indexEnvironment: obj.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Triggers of the Environment", "environment", obj.GetName())
		return nil
	}
	return requestsFor(list.Items)
}

func requestsFor[T any, P interface {
	*T
	client.Object
}](objects []T) []ctrl.Request {
	reqs := make([]ctrl.Request, len(objects))
	for i := range objects {
		reqs[i].NamespacedName = client.ObjectKeyFromObject(P(&objects[i]))
	}
	return reqs
}

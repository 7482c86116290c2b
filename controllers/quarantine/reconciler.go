// Package quarantine says of each Quarantine whether it applies, and what it named last.
package quarantine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// Reconciler writes the status of Quarantines. Runs do not depend on it.
type Reconciler struct {
	client.Client
	Clock clock.PassiveClock
	pace  *reconcile.Pace
}

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, clock clock.PassiveClock) error {
	r := &Reconciler{Client: mgr.GetClient(), Clock: clock, pace: reconcile.NewPace(clock)}
	return r.SetupWithManager(mgr)
}

// +kubebuilder:rbac:groups=postflight.dev,resources=quarantines,verbs=list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=quarantines/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Quarantine{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Suite{}, handler.EnqueueRequestsFromMapFunc(appliedBy), builder.WithPredicates(reconcile.JustEnded)).
		Watches(&v1alpha1.Trigger{}, handler.EnqueueRequestsFromMapFunc(r.thatName),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(retry.Conflicts(r))
}

// appliedBy are the Quarantines that a run applied.
func appliedBy(_ context.Context, obj client.Object) (requests []ctrl.Request) {
	s := obj.(*v1alpha1.Suite)
	if s.Status.Results == nil {
		return nil
	}
	for _, q := range s.Status.Results.Quarantines {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: q.Name}})
	}
	return requests
}

// thatName are the Quarantines of a Trigger, which may be new or gone.
func (r *Reconciler) thatName(ctx context.Context, obj client.Object) (requests []ctrl.Request) {
	list := &v1alpha1.QuarantineList{}
	if err := reconcile.Known(r).List(ctx, list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Quarantines of a Trigger", "trigger", obj.GetName())
		return nil
	}
	for i := range list.Items {
		for _, name := range list.Items[i].Spec.Triggers {
			if name == obj.GetName() {
				requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
	}
	return requests
}

// Reconcile writes the status, and runs again when the Quarantine begins or ends.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	q, err := reconcile.Get[v1alpha1.Quarantine](ctx, r, req.Namespace, req.Name)
	if err != nil || q == nil {
		r.pace.Forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	runs, triggers, err := r.related(ctx, req.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	next := ctrl.Result{RequeueAfter: quarantine.NextChange(q, now)}
	status := quarantine.StatusOf(q, runs, triggers, now)
	if equality.Semantic.DeepEqual(q.Status, status) {
		return next, nil
	}
	if wait := r.pace.Wait(req.NamespacedName); wait > 0 && equality.Semantic.DeepEqual(q.Status.Conditions, status.Conditions) {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	before := q.DeepCopy()
	q.Status = status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, q, patch); apierror.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write the status: %w", err)
	}
	r.pace.Wrote(req.NamespacedName)
	return next, nil
}

func (r *Reconciler) related(ctx context.Context, namespace string) (runs []*v1alpha1.Suite, triggers []string, err error) {
	suites, all := &v1alpha1.SuiteList{}, &v1alpha1.TriggerList{}
	if err := r.List(ctx, suites, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, err
	}
	if err := r.List(ctx, all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, err
	}
	for i := range suites.Items {
		runs = append(runs, &suites.Items[i])
	}
	for i := range all.Items {
		triggers = append(triggers, all.Items[i].Name)
	}
	return runs, triggers, nil
}

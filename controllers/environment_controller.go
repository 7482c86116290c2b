package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/index"
)

// EnvironmentReconciler deletes ephemeral Environments once they expire, after it has stopped the
// runs in them.
type EnvironmentReconciler struct {
	client.Client
	Live  client.Reader // asks the API server, before what cannot be taken back
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=postflight.dev,resources=environments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postflight.dev,resources=environments/finalizers,verbs=update

// SetupWithManager registers the reconciler.
func (r *EnvironmentReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Environment{}).
		Watches(&v1alpha1.Suite{}, handler.EnqueueRequestsFromMapFunc(environmentOf)).
		Complete(r)
}

func environmentOf(_ context.Context, obj client.Object) []ctrl.Request {
	s := obj.(*v1alpha1.Suite)
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Environment}}}
}

// Reconcile waits until the Environment expires, cancels what still runs in it, and deletes it once
// nothing does. A notification that renews it meanwhile makes the deletion fail, on its old version; that
// it was not renewed before the first cancel is asked of the API server, as a cache may not know yet.
func (r *EnvironmentReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	e, left, err := r.ephemeral(ctx, r, req)
	if err == nil && e != nil && left <= 0 {
		e, left, err = r.ephemeral(ctx, r.Live, req)
	}
	if err != nil || e == nil || left > 0 {
		return ctrl.Result{RequeueAfter: left}, err
	}
	running, err := r.cancelRuns(ctx, e)
	if err != nil || running {
		return ctrl.Result{}, err // their end is an event
	}
	version := e.ResourceVersion
	err = r.Delete(ctx, e, client.Preconditions{ResourceVersion: &version})
	return ctrl.Result{}, apierror.IgnoreNotFound(err)
}

// ephemeral is the Environment and how long it has left; nil where it is not ephemeral, or is gone.
func (r *EnvironmentReconciler) ephemeral(ctx context.Context, c client.Reader, req ctrl.Request) (*v1alpha1.Environment, time.Duration, error) {
	e, err := get[v1alpha1.Environment](ctx, c, req.Namespace, req.Name)
	if err != nil || e == nil || e.Spec.Ephemeral == nil || e.DeletionTimestamp != nil {
		return nil, 0, err
	}
	return e, e.Spec.Ephemeral.ExpiresAt.Sub(r.Clock.Now()), nil
}

func (r *EnvironmentReconciler) cancelRuns(ctx context.Context, e *v1alpha1.Environment) (running bool, err error) {
	list := &v1alpha1.SuiteList{}
	if err := r.List(ctx, list, client.InNamespace(e.Namespace), client.MatchingFields{index.Environment: e.Name}); err != nil {
		return false, err
	}
	for i := range list.Items {
		s := &list.Items[i]
		if s.Spec.Cancel {
			continue
		}
		patch := client.MergeFrom(s.DeepCopy())
		s.Spec.Cancel = true
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[v1alpha1.AnnotationCanceledBy] = "Postflight, because its ephemeral Environment expired"
		if err := r.Patch(ctx, s, patch); apierror.IgnoreNotFound(err) != nil {
			return true, fmt.Errorf("cancel %s: %w", s.Name, err)
		}
	}
	return len(list.Items) > 0, nil
}

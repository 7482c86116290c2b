package tenancy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// EnvironmentReconciler deletes ephemeral Environments that have expired, once their runs are stopped and archived.
type EnvironmentReconciler struct {
	client.Client
	Live     client.Reader // reads from the API server, before an action that cannot be undone
	Clock    clock.PassiveClock
	Archives bool // finished runs are archived before they are deleted
}

// +kubebuilder:rbac:groups=postflight.dev,resources=environments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postflight.dev,resources=environments/finalizers,verbs=update

// SetupWithManager registers the reconciler.
func (r *EnvironmentReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Environment{}).
		Watches(&v1alpha1.Suite{}, handler.EnqueueRequestsFromMapFunc(environmentOf),
			builder.WithPredicates(ignoreCreate, predicate.Or(reconcile.JustEnded, reconcile.JustArchived))).
		Complete(retry.Conflicts(r))
}

// ignoreCreate is for Suites: an Environment that expires waits for their end.
var ignoreCreate = predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}

func environmentOf(_ context.Context, obj client.Object) []ctrl.Request {
	s := obj.(*v1alpha1.Suite)
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Environment}}}
}

// Reconcile cancels nothing before the API server confirms the expiry: the cache may lag behind a renewal. A later one fails the deletion.
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
		return ctrl.Result{}, err // the end of each run causes a reconcile
	}
	if late := left + lifecycle.ArchiveWithin; r.Archives && late > 0 {
		unarchived, err := r.unarchived(ctx, e)
		if err != nil || unarchived {
			return ctrl.Result{RequeueAfter: late}, err // so does its archiving
		}
	}
	version := e.ResourceVersion
	err = r.Delete(ctx, e, client.Preconditions{ResourceVersion: &version})
	return ctrl.Result{}, apierror.IgnoreNotFound(err)
}

// ephemeral is the Environment and the time until it expires; nil if it is not ephemeral, or is gone.
func (r *EnvironmentReconciler) ephemeral(
	ctx context.Context, c client.Reader, req ctrl.Request,
) (*v1alpha1.Environment, time.Duration, error) {
	e, err := reconcile.Get[v1alpha1.Environment](ctx, c, req.Namespace, req.Name)
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
		s.Annotations[v1alpha1.AnnotationCanceledBy] = canceledBy(e)
		if err := r.Patch(ctx, s, patch); apierror.IgnoreNotFound(err) != nil {
			return true, fmt.Errorf("cancel %s: %w", s.Name, err)
		}
	}
	return len(list.Items) > 0, nil
}

func (r *EnvironmentReconciler) unarchived(ctx context.Context, e *v1alpha1.Environment) (bool, error) {
	list := &v1alpha1.SuiteList{}
	err := r.List(ctx, list, client.InNamespace(e.Namespace), client.UnsafeDisableDeepCopy)
	return slices.ContainsFunc(list.Items, func(s v1alpha1.Suite) bool {
		return s.Spec.Environment == e.Name && lifecycle.ToArchive(&s)
	}), err
}

func canceledBy(e *v1alpha1.Environment) string {
	if by := e.Annotations[v1alpha1.AnnotationTerminatedBy]; by != "" {
		return by + ", which ended its ephemeral Environment"
	}
	return "Postflight, because its ephemeral Environment expired"
}

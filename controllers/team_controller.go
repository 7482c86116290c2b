package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/index"
)

// TeamReconciler says of each Team whether its namespace is there and its own.
type TeamReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=postflight.dev,resources=teams/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// SetupWithManager registers the reconciler. Of Namespaces only the metadata is kept.
func (r *TeamReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Team{}).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.sharing)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.owners), builder.OnlyMetadata).
		Complete(r)
}

// Reconcile writes the Ready condition.
func (r *TeamReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t, err := get[v1alpha1.Team](ctx, r, "", req.Name)
	if err != nil || t == nil {
		return ctrl.Result{}, err
	}
	claims, err := index.Claimants(ctx, r, t.NamespaceName())
	if err != nil {
		return ctrl.Result{}, err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err = r.Get(ctx, client.ObjectKey{Name: t.NamespaceName()}, namespace)
	if apierror.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, setReady(ctx, r, t, &t.Status.Conditions, teamReady(t, claims, err == nil))
}

func teamReady(t *v1alpha1.Team, claims []v1alpha1.Team, exists bool) metav1.Condition {
	for _, other := range claims {
		if other.Name != t.Name {
			return notReady("NamespaceClaimedTwice", fmt.Sprintf(
				"The namespace %q is claimed by the Team %q too; the keys in it are refused until only one claims it.", t.NamespaceName(), other.Name))
		}
	}
	switch {
	case !exists:
		return notReady("NamespaceMissing", fmt.Sprintf("The namespace %q does not exist. Create it.", t.NamespaceName()))
	case t.Spec.Suspended:
		return ready("Suspended", "The team is suspended: its keys are answered with 403, and no run of it starts.")
	default:
		return ready("Active", "The keys in the team's namespace are accepted.")
	}
}

// sharing are the Teams that claim the namespace of one that changed.
func (r *TeamReconciler) sharing(ctx context.Context, obj client.Object) []ctrl.Request {
	return r.ownersOf(ctx, obj.(*v1alpha1.Team).NamespaceName())
}

func (r *TeamReconciler) owners(ctx context.Context, obj client.Object) []ctrl.Request {
	return r.ownersOf(ctx, obj.GetName())
}

func (r *TeamReconciler) ownersOf(ctx context.Context, namespace string) []ctrl.Request {
	claims, err := index.Claimants(ctx, r, namespace)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Teams of the namespace", "namespace", namespace)
		return nil
	}
	return requestsFor(claims)
}

package tenancy

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// TrustPolicyReconciler reports whether each TrustPolicy trusts any token. The manager does not depend on its status.
type TrustPolicyReconciler struct {
	client.Client
	Issuers map[string][]string // that the operator lists: their audiences by URL
}

// +kubebuilder:rbac:groups=postflight.dev,resources=trustpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=trustpolicies/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *TrustPolicyReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.TrustPolicy{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.policiesOf)).
		Complete(retry.Conflicts(r))
}

// Reconcile writes the Ready condition.
func (r *TrustPolicyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := reconcile.Get[v1alpha1.TrustPolicy](ctx, r, req.Namespace, req.Name)
	if err != nil || p == nil {
		return ctrl.Result{}, err
	}
	teams, err := index.Claimants(ctx, r, p.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reconcile.SetReady(ctx, r, p, &p.Status.Conditions, trust.Ready(p, teams, r.Issuers))
}

func (r *TrustPolicyReconciler) policiesOf(ctx context.Context, team client.Object) []ctrl.Request {
	list := &v1alpha1.TrustPolicyList{}
	inNamespace := client.InNamespace(team.(*v1alpha1.Team).NamespaceName())
	if err := reconcile.Known(r).List(ctx, list, inNamespace, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the TrustPolicies of a Team", "team", team.GetName())
		return nil
	}
	return reconcile.RequestsOfItems(list.Items)
}

package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// APIKeyReconciler says of each APIKey whether it is accepted.
type APIKeyReconciler struct {
	client.Client
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=postflight.dev,resources=apikeys,verbs=get;list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=apikeys/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *APIKeyReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.APIKey{}).
		Watches(&v1alpha1.APIKey{}, handler.EnqueueRequestsFromMapFunc(r.twins)).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.keysOf)).
		Complete(r)
}

// Reconcile writes the Ready condition, and comes again when the key expires.
func (r *APIKeyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	k, err := get[v1alpha1.APIKey](ctx, r, req.Namespace, req.Name)
	if err != nil || k == nil {
		return ctrl.Result{}, err
	}
	twins, err := r.withDigest(ctx, k.Spec.SHA256)
	if err != nil {
		return ctrl.Result{}, err
	}
	teams, err := teamsOf(ctx, r, k.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	again := time.Duration(0)
	if k.Spec.ExpiresAt != nil {
		again = max(k.Spec.ExpiresAt.Sub(now), 0)
	}
	return ctrl.Result{RequeueAfter: again}, setReady(ctx, r, k, &k.Status.Conditions, keyReady(k, twins, teams, now))
}

func keyReady(k *v1alpha1.APIKey, twins []v1alpha1.APIKey, teams []v1alpha1.Team, now time.Time) metav1.Condition {
	for _, twin := range twins {
		if twin.Namespace != k.Namespace {
			return notReady("UsedTwice",
				"Another namespace has an APIKey with the same hash, and nobody can tell whose key it is; both are refused. Make a new key.")
		}
	}
	switch {
	case k.Spec.Suspended:
		return notReady("Suspended", "The key is suspended, and refused with 401.")
	case k.Spec.ExpiresAt != nil && !now.Before(k.Spec.ExpiresAt.Time):
		return notReady("Expired", "The key has expired, and is refused with 401. Make a new one.")
	case len(teams) == 0:
		return notReady("NoTeam", fmt.Sprintf("No Team owns the namespace %q; the key is refused with 401.", k.Namespace))
	case len(teams) > 1:
		return notReady("NamespaceClaimedTwice", fmt.Sprintf("Several Teams claim the namespace %q; the key is refused with 401.", k.Namespace))
	default:
		return ready("Accepted", fmt.Sprintf("The key is accepted for the Team %q.", teams[0].Name))
	}
}

func (r *APIKeyReconciler) withDigest(ctx context.Context, sha string) ([]v1alpha1.APIKey, error) {
	list := &v1alpha1.APIKeyList{}
	err := r.List(ctx, list, client.MatchingFields{indexDigest: sha}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// twins are the APIKeys with the hash of one that changed.
func (r *APIKeyReconciler) twins(ctx context.Context, obj client.Object) []ctrl.Request {
	keys, err := r.withDigest(ctx, obj.(*v1alpha1.APIKey).Spec.SHA256)
	return r.requests(ctx, keys, err)
}

func (r *APIKeyReconciler) keysOf(ctx context.Context, obj client.Object) []ctrl.Request {
	list := &v1alpha1.APIKeyList{}
	err := r.List(ctx, list, client.InNamespace(obj.(*v1alpha1.Team).NamespaceName()), client.UnsafeDisableDeepCopy)
	return r.requests(ctx, list.Items, err)
}

func (r *APIKeyReconciler) requests(ctx context.Context, keys []v1alpha1.APIKey, err error) []ctrl.Request {
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the APIKeys concerned")
		return nil
	}
	return requestsFor(keys)
}

package tenancy

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
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// APIKeyReconciler reports whether each APIKey is accepted.
type APIKeyReconciler struct {
	client.Client
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=postflight.dev,resources=apikeys,verbs=list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=apikeys/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *APIKeyReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.APIKey{}).
		Watches(&v1alpha1.APIKey{}, handler.EnqueueRequestsFromMapFunc(r.keysWithSameHash)).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.keysAffectedBy)).
		Complete(retry.Conflicts(r))
}

// Reconcile writes the Ready condition, and runs again when the key expires, or another key that revokes it.
func (r *APIKeyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	k, err := reconcile.Get[v1alpha1.APIKey](ctx, r, req.Namespace, req.Name)
	if err != nil || k == nil {
		return ctrl.Result{}, err
	}
	sameHash, err := index.Keys(ctx, r, "", k.Spec.SHA256)
	if err != nil {
		return ctrl.Result{}, err
	}
	claims, err := index.Claims(ctx, r, append([]v1alpha1.APIKey{*k}, sameHash...))
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	condition := keyReady(k, apikey.Judge(k, sameHash, claims, now), claims[k.Namespace])
	return ctrl.Result{RequeueAfter: untilExpiry(k.Namespace, sameHash, now)}, reconcile.SetReady(ctx, r, k, &k.Status.Conditions, condition)
}

// untilExpiry is the time until the next of the namespace's keys with one hash expires; 0 if none will.
func untilExpiry(namespace string, sameHash []v1alpha1.APIKey, now time.Time) time.Duration {
	next := time.Duration(0)
	for _, k := range sameHash {
		if k.Namespace != namespace || k.Spec.ExpiresAt == nil {
			continue
		}
		if left := k.Spec.ExpiresAt.Sub(now); left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

func keyReady(k *v1alpha1.APIKey, verdict apikey.Verdict, teams []v1alpha1.Team) metav1.Condition {
	if verdict != apikey.Accepted {
		return reconcile.NotReady(string(verdict), refusalMessage(k, verdict))
	}
	if k.Spec.NamesNamespace {
		return reconcile.Ready(string(verdict),
			fmt.Sprintf("The key is accepted for the Team %q if it names the namespace %q.", teams[0].Name, k.Namespace))
	}
	return reconcile.Ready(string(verdict), fmt.Sprintf("The key is accepted for the Team %q.", teams[0].Name))
}

func refusalMessage(k *v1alpha1.APIKey, verdict apikey.Verdict) string {
	switch verdict {
	case apikey.Deleted:
		return "The key is being deleted and is refused with 401."
	case apikey.Suspended:
		return "The key is suspended and is refused with 401."
	case apikey.Expired:
		return "The key has expired and is refused with 401. Create a new one."
	case apikey.Revoked:
		return "Another APIKey in this namespace has the same hash and is suspended, expired or being deleted. " +
			"This revokes the key: it is refused with 401."
	case apikey.NoTeam:
		return fmt.Sprintf("No Team owns the namespace %q, so the key is refused with 401.", k.Namespace)
	case apikey.NamespaceClaimedTwice:
		return fmt.Sprintf("Several Teams claim the namespace %q, so the key is refused with 401.", k.Namespace)
	default:
		return "The namespace of another Team has an APIKey with the same hash. It is unclear whose key it is, so both are refused with 401, " +
			"unless the key names its namespace. Create a new key with \"postflight keys create\": " +
			"it names its namespace, and no other APIKey can affect it."
	}
}

func (r *APIKeyReconciler) keysWithSameHash(ctx context.Context, obj client.Object) []ctrl.Request {
	keys, err := index.Keys(ctx, reconcile.Known(r), "", obj.(*v1alpha1.APIKey).Spec.SHA256)
	return r.requests(ctx, keys, err)
}

// Keys elsewhere with the same hashes are rejected as long as both namespaces have a Team.
func (r *APIKeyReconciler) keysAffectedBy(ctx context.Context, obj client.Object) []ctrl.Request {
	own := &v1alpha1.APIKeyList{}
	err := reconcile.Known(r).List(ctx, own, client.InNamespace(obj.(*v1alpha1.Team).NamespaceName()), client.UnsafeDisableDeepCopy)
	var affected []v1alpha1.APIKey
	for i := 0; i < len(own.Items) && err == nil; i++ {
		var same []v1alpha1.APIKey
		same, err = index.Keys(ctx, reconcile.Known(r), "", own.Items[i].Spec.SHA256)
		affected = append(affected, same...)
	}
	return r.requests(ctx, affected, err)
}

func (r *APIKeyReconciler) requests(ctx context.Context, keys []v1alpha1.APIKey, err error) []ctrl.Request {
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the affected APIKeys")
		return nil
	}
	return reconcile.RequestsOfItems(keys)
}

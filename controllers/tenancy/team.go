package tenancy

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// webhooksEvery is how often the Secrets of webhooks are looked at, because they are not watched.
const webhooksEvery = 5 * time.Minute

// TeamReconciler reports whether each Team's namespace exists and belongs to it alone, and whether its webhooks can be used.
type TeamReconciler struct {
	client.Client
	Live  client.Reader // reads Secrets, which are not cached
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=postflight.dev,resources=teams/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

// SetupWithManager registers the reconciler. Only the metadata of Namespaces is cached.
func (r *TeamReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Team{}).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.claimantsLike)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.claimantsOf), builder.OnlyMetadata).
		Complete(retry.Conflicts(r))
}

// Reconcile writes the Ready condition.
func (r *TeamReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t, err := reconcile.Get[v1alpha1.Team](ctx, r, "", req.Name)
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
	ready := teamReady(t, claims, err == nil)
	if ready.Status == metav1.ConditionTrue && len(t.Spec.Webhooks) > 0 {
		if ready, err = r.webhooksReady(ctx, t, ready); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: recheck(t)}, r.report(ctx, t, ready)
}

func recheck(t *v1alpha1.Team) time.Duration {
	if len(t.Spec.Webhooks) == 0 {
		return 0
	}
	return wait.Jitter(webhooksEvery, retry.Spread)
}

func (r *TeamReconciler) webhooksReady(ctx context.Context, t *v1alpha1.Team, ready metav1.Condition) (metav1.Condition, error) {
	for _, w := range announce.Webhooks(t) {
		_, problem, err := reconcile.MessageTarget(ctx, r.Live, t.NamespaceName(), w)
		if err != nil {
			return ready, err
		}
		if problem != "" {
			return reconcile.NotReady("WebhookUnusable", fmt.Sprintf("%s gets no events: %s %s", w.Title(), problem, ready.Message)), nil
		}
	}
	return ready, nil
}

func (r *TeamReconciler) report(ctx context.Context, t *v1alpha1.Team, ready metav1.Condition) error {
	before := t.DeepCopy()
	t.Status.Webhooks = announce.SeenWebhooks(t, r.Clock.Now())
	ready.ObservedGeneration = t.Generation
	meta.SetStatusCondition(&t.Status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, t.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return apierror.IgnoreNotFound(r.Status().Patch(ctx, t, patch))
}

func teamReady(t *v1alpha1.Team, claims []v1alpha1.Team, exists bool) metav1.Condition {
	for _, other := range claims {
		if other.Name != t.Name {
			return reconcile.NotReady("NamespaceClaimedTwice", fmt.Sprintf(
				"The Team %[2]q claims the namespace %[1]q, too. The keys in it are refused until only one Team claims it.",
				t.NamespaceName(), other.Name))
		}
	}
	switch {
	case !exists:
		return reconcile.NotReady("NamespaceMissing", fmt.Sprintf("The namespace %q does not exist. Create it.", t.NamespaceName()))
	case t.Spec.Suspended:
		return reconcile.Ready("Suspended", "The team is suspended: its keys are refused with 403, and its runs do not start.")
	default:
		return reconcile.Ready("Active", "The keys in the team's namespace are accepted.")
	}
}

func (r *TeamReconciler) claimantsLike(ctx context.Context, obj client.Object) []ctrl.Request {
	return r.requests(ctx, obj.(*v1alpha1.Team).NamespaceName())
}

func (r *TeamReconciler) claimantsOf(ctx context.Context, obj client.Object) []ctrl.Request {
	return r.requests(ctx, obj.GetName())
}

func (r *TeamReconciler) requests(ctx context.Context, namespace string) []ctrl.Request {
	claims, err := index.Claimants(ctx, reconcile.Known(r), namespace)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Teams of the namespace", "namespace", namespace)
		return nil
	}
	return reconcile.RequestsOfItems(claims)
}

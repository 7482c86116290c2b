package deploymentgate

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

const (
	// reviewWorkers mostly wait for code hosts. report.Limits bounds how many of them a code host that hangs can hold up.
	reviewWorkers = 8

	// sendTimeout bounds requests to a code host. It also bounds how old a verdict can be when its approval is sent: a process that was
	// stopped meanwhile sends nothing.
	sendTimeout = 20 * time.Second

	// wakeAfter collects the changes of the runs of a commit.
	wakeAfter = 500 * time.Millisecond
)

// Reviews decides about DeploymentReviews, and tells the code host. A decision is stored before it is sent.
type Reviews struct {
	client.Client
	Clock   clock.PassiveClock
	Config  Config
	Metrics *Metrics

	hosts   hosts
	budgets *report.Budgets
	memory  memory
}

// +kubebuilder:rbac:groups=postflight.dev,resources=deploymentreviews,verbs=create;delete;list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=deploymentreviews/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *Reviews) SetupWithManager(mgr ctrl.Manager) error {
	onceEnded := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { // its own writes need no reconcile
		return e.ObjectNew.(*v1alpha1.DeploymentReview).Ended() != e.ObjectOld.(*v1alpha1.DeploymentReview).Ended()
	}}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.DeploymentReview{}, builder.WithPredicates(onceEnded)).
		Watches(&v1alpha1.DeploymentGate{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []ctrl.Request {
			return r.waiting(ctx, o.GetNamespace(), func(*v1alpha1.DeploymentReview) bool { return true })
		})).
		Watches(&v1alpha1.Suite{}, r.wake(), builder.WithPredicates(predicate.Funcs{UpdateFunc: changesVerdict})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: reviewWorkers, ReconciliationTimeout: retry.Timeout, RateLimiter: retry.Backoff(),
		}).
		Complete(retry.Conflicts(r))
}

func changesVerdict(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.Suite), e.ObjectNew.(*v1alpha1.Suite)
	return before.State() != after.State() || before.UID != after.UID || reconcile.Redeployed(e)
}

// wake looks again at the reviews that may wait for a run.
func (r *Reviews) wake() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	enqueue := func(ctx context.Context, o client.Object, q queue) {
		s := o.(*v1alpha1.Suite)
		for _, request := range r.waiting(ctx, s.Namespace, func(review *v1alpha1.DeploymentReview) bool {
			return review.Spec.SHA == "" || commit.EqualRevisions(review.Spec.SHA, s.Spec.Deployment.SHA)
		}) {
			q.AddAfter(request, wakeAfter)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

func (r *Reviews) waiting(ctx context.Context, namespace string, concerns func(*v1alpha1.DeploymentReview) bool) (all []ctrl.Request) {
	list := &v1alpha1.DeploymentReviewList{}
	if err := reconcile.Known(r).List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the DeploymentReviews of a namespace", "namespace", namespace)
		return nil
	}
	for i := range list.Items {
		if review := &list.Items[i]; !review.Ended() && concerns(review) {
			all = append(all, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(review)})
		}
	}
	return all
}

// Reconcile decides about a review, or deletes it.
func (r *Reviews) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	review, err := reconcile.Get[v1alpha1.DeploymentReview](ctx, r, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if review == nil || review.DeletionTimestamp != nil {
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if review.Ended() {
		r.memory.forget(req.NamespacedName)
		after, err := r.retire(ctx, review)
		return ctrl.Result{RequeueAfter: after}, err
	}
	after, err := r.review(ctx, review)
	return ctrl.Result{RequeueAfter: after}, apierror.IgnoreNotFound(err)
}

// review returns when to look again.
func (r *Reviews) review(ctx context.Context, review *v1alpha1.DeploymentReview) (time.Duration, error) {
	o, err := r.observe(ctx, review, r.memory.pending(client.ObjectKeyFromObject(review), r.Clock.Now()), false)
	if err != nil {
		return 0, fmt.Errorf("observe: %w", err)
	}
	step := gate.Next(o, r.Clock.Now())
	if step.Ended != "" {
		return 0, r.end(ctx, review, step.Ended)
	}
	if approves(step) || step.Ask {
		pending, after, err := r.ask(ctx, o)
		if err != nil || pending == nil {
			return after, err
		}
		if o, err = r.observe(ctx, review, pending, true); err != nil {
			return 0, fmt.Errorf("observe: %w", err)
		}
		step = gate.Next(o, r.Clock.Now())
	}
	switch {
	case step.Ended != "":
		return 0, r.end(ctx, review, step.Ended)
	case step.Decision == nil:
		return r.wait(ctx, o, step)
	default:
		return r.tell(ctx, o, step)
	}
}

func approves(s gate.Step) bool {
	return s.Decision != nil && s.Decision.State == v1alpha1.ReviewApproved
}

// observe with live also reads what the cache may not have yet.
func (r *Reviews) observe(
	ctx context.Context, review *v1alpha1.DeploymentReview, pending *report.Pending, live bool,
) (o gate.Observation, err error) {
	o = gate.Observation{Review: review, Pending: pending, PublicURL: r.Config.PublicURL}
	if o.Source, err = reconcile.Shared[v1alpha1.EventSource](ctx, r, review.Namespace, review.Spec.Source); err != nil {
		return o, err
	}
	if o.Team, err = index.Owner(ctx, r, review.Namespace); err != nil {
		return o, err
	}
	list := &v1alpha1.DeploymentGateList{}
	if err := r.List(ctx, list, client.InNamespace(review.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return o, err
	}
	for _, g := range gate.Matching(list.Items, gate.PlaceOf(review)) {
		required, err := r.required(ctx, o, g, live)
		if err != nil {
			return o, err
		}
		o.Gates = append(o.Gates, gate.Gate{DeploymentGate: g, Requires: required})
	}
	if o.Answers = gate.Answering(list.Items, review); o.Source == nil || o.Answers == nil {
		return o, nil
	}
	reviews := &v1alpha1.DeploymentReviewList{}
	if err := r.List(ctx, reviews, client.InNamespace(review.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return o, err
	}
	o.Again = gate.AskedAgain(review, reviews.Items)
	target := report.Target{Host: review.Spec.HostingService, Repository: review.Spec.Repository}
	o.Allowed = !o.Source.OfApp() && o.Answers.Spec.Credentials != nil || r.hosts.allowed(target, o.Team)
	if o.Answers.Spec.Credentials == nil {
		o.Host = r.hosts.byName[target.Host].Name
		o.Claims, err = r.claims(ctx, target, review.Spec.Environment)
	}
	return o, err
}

func (r *Reviews) required(
	ctx context.Context, o gate.Observation, g *v1alpha1.DeploymentGate, live bool,
) (all []gate.Required, err error) {
	c := commit.New(o.Review.Spec.Repository, "", gate.SHA(o.Review, o.Pending))
	for _, requirement := range g.Spec.Requires {
		required := gate.Required{Environment: requirement.Environment}
		required.Verdict, required.Known, err = r.Config.Verdicts.Verdict(ctx, g.Namespace, requirement, c, live)
		if err != nil {
			return nil, err
		}
		all = append(all, required)
	}
	return all, nil
}

// retire deletes a review when it is not needed any more.
func (r *Reviews) retire(ctx context.Context, review *v1alpha1.DeploymentReview) (time.Duration, error) {
	left := review.Status.DeliveredTime.Add(gate.KeptFor).Sub(r.Clock.Now())
	if left > 0 {
		list := &v1alpha1.DeploymentReviewList{}
		if err := r.List(ctx, list, client.InNamespace(review.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return 0, err
		}
		newer := 0
		for i := range list.Items {
			if d := list.Items[i].Status.DeliveredTime; d != nil && review.Status.DeliveredTime.Before(d) {
				newer++
			}
		}
		if newer < gate.MaxKept {
			return left, nil
		}
	}
	err := r.Delete(ctx, review, client.Preconditions{UID: &review.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil
	}
	return 0, err
}

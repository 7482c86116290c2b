package suite

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// suiteWorkers mostly wait for the API server, so that a burst of Suites needs several; its fairness bounds what they write.
const suiteWorkers = 16

// Reconciler runs Suites as Jobs, from their creation to their end.
type Reconciler struct {
	client.Client                      // reads from the cache, which has its own writes
	Live          client.Reader        // reads from the API server: pods, which are not cached, and what a cache may not have yet
	Recorder      events.EventRecorder // for kubectl describe
	Config

	queues      *queues
	starts      *starts
	warnings    *warnings // about runs that do not start
	limitRanges *limitRanges
	statusSlots *statusSlots
	streams     *streams

	reading *fairness.Semaphore // of the tests of earlier runs
}

// +kubebuilder:rbac:groups=postflight.dev,resources=suites,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postflight.dev,resources=suites/status,verbs=patch
// +kubebuilder:rbac:groups=postflight.dev,resources=suites/finalizers,verbs=update
// +kubebuilder:rbac:groups=postflight.dev,resources=environments;triggers;triggerclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=teams,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=list;create

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Suite{}, builder.WithPredicates(ignoreCreate,
			predicate.Or(specOrAnnotationsChanged, reconcile.JustEnded, reconcile.JustArchived, reconcile.Replaced))).
		Owns(&batchv1.Job{}, builder.WithPredicates(ignoreCreate)).
		Watches(&v1alpha1.Suite{}, r.enqueueStream()).
		Watches(&v1alpha1.Trigger{}, handler.EnqueueRequestsFromMapFunc(r.suitesOf(index.Trigger)), moreThanLimitChanged).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.suitesOf(index.Environment)), moreThanLimitChanged).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.awaitingDeployment), deploymentChanged).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.unfinishedOfTeam), moreThanLimitChanged).
		Watches(&v1alpha1.Suite{}, r.queues.suites()).
		Watches(&batchv1.Job{}, r.queues.jobs()).
		Watches(&v1alpha1.Trigger{}, r.queues.triggers()).
		Watches(&v1alpha1.Environment{}, r.queues.environments(r.runsOf)).
		Watches(&v1alpha1.Team{}, r.queues.teams(r)).
		WatchesRawSource(r.queues.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: suiteWorkers, ReconciliationTimeout: retry.Timeout,
			RateLimiter: retry.Backoff()}).
		Complete(retry.Conflicts(r))
}

// The manager's own writes to a Suite cause no reconcile, except for its end and its archiving, which time its deletion.
var specOrAnnotationsChanged = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})

// ignoreCreate is for Jobs, which the reconciler itself creates, and for Suites, which their queue enqueues.
var ignoreCreate = predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}

// withVariables reads a run from the API server whose variables the cache lacks. It is nil if it is gone.
func (r *Reconciler) withVariables(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	if s.Annotations[v1alpha1.AnnotationVariablesOmitted] == "" {
		return s, nil
	}
	return reconcile.Reread(ctx, r.Live, s)
}

// Reconcile observes, acts until nothing is left to do, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.nextStatus(req)
	s := &v1alpha1.Suite{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil {
		r.starts.forget(req.NamespacedName)
		return ctrl.Result{}, apierror.IgnoreNotFound(err)
	}
	s, err := r.withVariables(ctx, s)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	o, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	d := lifecycle.Decide(o, r.Clock.Now())
	for ; d.Action != lifecycle.Report; d = lifecycle.Decide(o, r.Clock.Now()) {
		if err := r.act(ctx, &o, d.Action); errors.Is(err, errQueueDiffers) {
			return ctrl.Result{RequeueAfter: queueLag}, nil
		} else if err != nil {
			return ctrl.Result{}, fmt.Errorf("%s: %w", d.Action, err)
		}
		if d.Action == lifecycle.DeleteSuite {
			return ctrl.Result{}, nil
		}
	}
	if o.Job == nil && !o.Creation.Unknown {
		r.queues.release(s)
	}
	if d.Deferred {
		return ctrl.Result{RequeueAfter: r.UntouchedFor, Priority: r.queues.statusPriority(s.Namespace)}, nil
	}
	if err := r.report(ctx, o, d); err != nil {
		return ctrl.Result{}, fmt.Errorf("report: %w", err)
	}
	switch {
	case d.Stuck:
		return ctrl.Result{RequeueAfter: d.RequeueAfter, Priority: new(queue.LastPriority)}, nil
	case d.OnHold:
		return ctrl.Result{RequeueAfter: d.RequeueAfter, Priority: r.queues.startPriority(s.Namespace)}, nil // it may start then
	default:
		return ctrl.Result{RequeueAfter: d.RequeueAfter}, nil
	}
}

func (r *Reconciler) ledgers() reconcile.Ledgers {
	return reconcile.Ledgers{Client: r, Live: r.Live, Clock: r.Clock}
}

func (r *Reconciler) act(ctx context.Context, o *lifecycle.Observation, action lifecycle.Action) (err error) {
	switch action {
	case lifecycle.RequestSlot:
		return r.requestSlot(o)
	case lifecycle.FindInputs:
		o.Inputs, o.Position = r.findInputs(ctx, *o), nil
		return nil
	case lifecycle.FindFailed:
		o.Position = nil
		return r.findFailed(ctx, o)
	case lifecycle.CreateJob:
		if o.Position != nil && !r.queues.claim(*o) {
			o.Position = nil // another run took the slot meanwhile
			return nil
		}
		return r.createJob(ctx, o)
	case lifecycle.StopPods:
		return r.stopPods(ctx, o)
	case lifecycle.EndPods:
		return r.endPods(ctx, o)
	case lifecycle.DeleteJob:
		return r.deleteJob(ctx, o)
	case lifecycle.CompareWorkloads:
		return r.compareWorkloads(ctx, o)
	case lifecycle.CompareTests:
		r.compareTests(ctx, o)
		return nil
	case lifecycle.ReadLedger:
		o.Ledger, err = r.ledgers().Cached(ctx, o.Suite)
		return err
	case lifecycle.CompleteLedger:
		o.Suite, o.Ledger, err = r.ledgers().Complete(ctx, o.Suite)
		o.Complete = err == nil
		return err
	case lifecycle.CreateSuccessor:
		return r.createSuccessor(ctx, o)
	case lifecycle.DeleteSuite:
		return r.delete(ctx, o.Suite)
	default:
		return fmt.Errorf("unknown action")
	}
}

// delete removes exactly the observed object. Foreground deletion keeps a Job until its pods are gone, which its absence has to mean.
func (r *Reconciler) delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	uid := obj.GetUID()
	err := r.Delete(ctx, obj, append(options, client.PropagationPolicy("Foreground"), client.Preconditions{UID: &uid})...)
	if apierrors.IsConflict(err) {
		return nil // by now another object has the name
	}
	return apierror.IgnoreNotFound(err)
}

// The status is written once and only if it changed, before the event.
func (r *Reconciler) report(ctx context.Context, o lifecycle.Observation, d lifecycle.Decision) error {
	old := o.Suite
	s := old.DeepCopy()
	lifecycle.SetStatus(s, o, d, r.Clock.Now())
	if !lifecycle.StatusChanged(old, s) {
		return nil
	}
	if d.Waiting && !r.statusSlots.take(requestOf(s)) {
		return nil // and later again
	}
	patch := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, s, patch); err != nil {
		return apierror.IgnoreNotFound(err)
	}
	if old.State() != s.State() {
		r.Metrics.moved(s, o.Team, r.Clock.Now())
		r.recordEvent(s)
		r.trace(s, o.Job)
	}
	return nil
}

func (r *Reconciler) nextStatus(req ctrl.Request) {
	if next, more := r.statusSlots.leave(req); more {
		enqueue(r.queues.requests, next, priorityqueue.AddOpts{Priority: new(queue.LastPriority)})
	}
}

// recordEvent records only surprising ends: every other state is in the condition, and an event would cost a write for each run.
func (r *Reconciler) recordEvent(s *v1alpha1.Suite) {
	if !s.Finished() || verdict.RunPassed(s) {
		return
	}
	end := s.Succeeded()
	kind := corev1.EventTypeNormal
	if state.Of(end.Reason).Bad {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(s, nil, kind, end.Reason, "Run", "%s", reconcile.ClipNote(end.Message))
}

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/job"
	"github.com/postflight-dev/postflight/internal/suite"
)

// suiteWorkers is how many Suites are reconciled at once. A reconcile mostly waits for the API
// server, so that a burst of Suites needs several; what they write is bounded by its fairness.
const suiteWorkers = 16

// lookWithin bounds a look at a Suite, so that a worker comes back from an API server, or a store, that
// does not answer: longer than any answer that is worth waiting for.
const lookWithin = 2 * time.Minute

// queueLocks is how many namespaces can ask for slots at once: more than there are workers, as some share
// a lock.
const queueLocks = 8 * suiteWorkers

// lastPriority is below that of what a manager finds when it starts: words and second looks come after
// every Job that can be created.
const lastPriority = 2 * handler.LowPriority

// SuiteReconciler carries Suites from their creation to their end, as Jobs.
type SuiteReconciler struct {
	client.Client                      // reads from the cache, and sees its own writes there
	Live          client.Reader        // asks the API server: for pods, which are not cached, and for what a cache may not know yet
	Recorder      events.EventRecorder // for people who run kubectl describe
	Clock         clock.PassiveClock
	Metrics       *SuiteMetrics
	Inputs        InputsConfig
	PodGoneAfter  time.Duration // after its grace period, a pod that has not stopped is given up

	// queues lets one Suite of a namespace at a time ask for a slot where slots are limited, so that two
	// never take the same one.
	queues keymutex.KeyMutex

	warnings *warnings // about runs that do not start
}

// +kubebuilder:rbac:groups=postflight.dev,resources=suites,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postflight.dev,resources=suites/status,verbs=patch
// +kubebuilder:rbac:groups=postflight.dev,resources=suites/finalizers,verbs=update
// +kubebuilder:rbac:groups=postflight.dev,resources=teams;environments;triggers,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=list;create;patch

// SetupWithManager registers the reconciler.
func (r *SuiteReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Suite{}, builder.WithPredicates(predicate.Or(askedForMore, justEnded, replaced))).
		Owns(&batchv1.Job{}, builder.WithPredicates(notOurs)).
		Watches(&v1alpha1.Suite{}, r.wakeOthers()).
		Watches(&v1alpha1.Trigger{}, handler.EnqueueRequestsFromMapFunc(r.suitesOf(indexTrigger)), specChanged).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.suitesOf(indexEnvironment)), specChanged).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.unfinishedOfTeam), specChanged).
		WithOptions(controller.Options{MaxConcurrentReconciles: suiteWorkers, ReconciliationTimeout: lookWithin, RateLimiter: backoff()}).
		Complete(r)
}

// backoff from looks that fail. The default grows to a quarter of an hour, for which a run would stand
// still after the API server is well again.
func backoff() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](5*time.Millisecond, 30*time.Second)
}

// specChanged keeps the status of a Trigger, which changes with each of its runs, from waking them.
var specChanged = builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, replaced))

// replaced is an object that was deleted and created again while the watch was away: what the cache learns
// is an update, of the same generation.
var replaced = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() }}

// A Suite is not looked at again for what the manager wrote about it, but for its end, from which the
// time counts until it is deleted.
var (
	askedForMore = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	justEnded    = predicate.Funcs{UpdateFunc: ends}
)

// notOurs keeps the creation of a Job, which is our own doing, from being looked at before others.
var notOurs = predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}

func ends(e event.UpdateEvent) bool {
	return !e.ObjectOld.(*v1alpha1.Suite).Finished() && e.ObjectNew.(*v1alpha1.Suite).Finished()
}

// Reconcile observes, decides, applies and reports.
func (r *SuiteReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.Suite{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	o, queue, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	d, err := r.act(ctx, &o, queue)
	if err == nil && d.LookUpInputs {
		// Outside of the queue's lock: the store may be slow, and must not hold up other runs.
		o.Inputs = r.lookUpInputs(ctx, o)
		d, err = r.act(ctx, &o, queue)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case d.DeleteSuite:
		return ctrl.Result{}, nil
	case d.CreateJob:
		// The words for it come after the Jobs of all other runs, so that a burst starts fast.
		r.Metrics.started(s, r.Clock.Now())
		return ctrl.Result{RequeueAfter: 1, Priority: new(lastPriority)}, nil
	}
	if err := r.report(ctx, o, d); err != nil {
		return ctrl.Result{}, fmt.Errorf("report: %w", err)
	}
	if !suite.Ended(d.Condition) && o.Job != nil && job.Starting(o.Job) {
		// After all that is new: a thousand pods that cannot start must not hold up other runs.
		return ctrl.Result{RequeueAfter: pace(r.Clock.Since(o.Job.CreationTimestamp.Time)), Priority: new(lastPriority)}, nil
	}
	return ctrl.Result{RequeueAfter: d.Again}, nil
}

// act decides and applies. A place in the queue holds only as long as nobody else takes one, so that a
// Job which takes one has to be in the cache before the next Suite asks.
func (r *SuiteReconciler) act(ctx context.Context, o *suite.Observation, queue *v1alpha1.Team) (d suite.Decision, err error) {
	if queue != nil {
		r.queues.LockKey(o.Suite.Namespace)
		defer func() { _ = r.queues.UnlockKey(o.Suite.Namespace) }() // never fails
		if o.Place, err = r.place(ctx, o.Suite, queue); err != nil {
			return d, fmt.Errorf("find the place in the queue: %w", err)
		}
	}
	if d, err = r.apply(ctx, o, suite.Decide(*o, r.Clock.Now())); err != nil {
		return d, fmt.Errorf("apply: %w", err)
	}
	if queue != nil && d.CreateJob {
		_, _, err = r.job(ctx, o.Suite)
	}
	return d, err
}

// apply does what was decided. A Job that the API server refuses changes the decision.
func (r *SuiteReconciler) apply(ctx context.Context, o *suite.Observation, d suite.Decision) (suite.Decision, error) {
	switch {
	case d.CreateJob:
		return r.createJob(ctx, o, d)
	case d.DeleteJob:
		return d, r.deleteJob(ctx, o)
	case d.DeleteSuite:
		return d, r.delete(ctx, o.Suite)
	default:
		return d, nil
	}
}

// deleteJob does not have later reads wait until the cache knows of it where the cache has no such Job.
func (r *SuiteReconciler) deleteJob(ctx context.Context, o *suite.Observation) error {
	if o.Unlabeled {
		return r.delete(ctx, o.Job, client.DisableReadYourWritesConsistency)
	}
	return r.delete(ctx, o.Job)
}

// delete removes exactly the object that was observed. Foreground deletion keeps a Job until its pods
// are gone, which is what its absence has to mean.
func (r *SuiteReconciler) delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	uid := obj.GetUID()
	err := r.Delete(ctx, obj, append(options, client.PropagationPolicy("Foreground"), client.Preconditions{UID: &uid})...)
	if apierrors.IsConflict(err) {
		return nil // another object has the name now
	}
	return apierror.IgnoreNotFound(err)
}

// report writes the status, once and only if it changed, and then tells people about it.
func (r *SuiteReconciler) report(ctx context.Context, o suite.Observation, d suite.Decision) error {
	was := o.Suite
	s := was.DeepCopy()
	suite.SetStatus(s, o, d, r.Clock.Now())
	if !suite.StatusChanged(was, s) {
		return nil
	}
	patch := client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, s, patch); err != nil {
		return apierror.IgnoreNotFound(err)
	}
	if was.State() != s.State() {
		r.Metrics.moved(s, r.Clock.Now())
		r.tell(s, d)
	}
	return nil
}

func (r *SuiteReconciler) tell(s *v1alpha1.Suite, d suite.Decision) {
	kind := corev1.EventTypeNormal
	switch d.Condition.Reason {
	case v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut, v1alpha1.ReasonError:
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(s, nil, kind, d.Condition.Reason, "Run", "%s", clipNote(d.Condition.Message))
}

// maxNote is what the API server accepts as the note of an event, in bytes.
const maxNote = 1024

func clipNote(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
}

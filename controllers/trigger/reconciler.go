// Package trigger counts the runs of Triggers, and fills the match.Index.
package trigger

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// Reconciler reports whether each Trigger can match and its schedule is valid, and counts its runs.
type Reconciler struct {
	client.Client
	Recorder events.EventRecorder

	pace     *reconcile.Pace
	turns    *reconcile.Turns
	problems sync.Map // of match conditions, by types.NamespacedName
}

// +kubebuilder:rbac:groups=postflight.dev,resources=triggers/status,verbs=patch

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, clock clock.PassiveClock) error {
	r := &Reconciler{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("postflight"), pace: reconcile.NewPace(clock),
		turns: reconcile.NewTurns()}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Trigger{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.triggersOf), reconcile.SpecChanged).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.triggersWith(index.Environment))).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.triggersOfAnyType), builder.WithPredicates(comesOrGoes)).
		Watches(&v1alpha1.TriggerClass{}, handler.EnqueueRequestsFromMapFunc(r.triggersWith(index.Class)), reconcile.SpecChanged).
		Watches(&v1alpha1.Suite{}, reconcile.EnqueueAfter(countDelay, triggerOf)).
		WatchesRawSource(source.Func(r.turns.Feed)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(retry.Conflicts(r))
}

// workers mostly wait for the API server. Each works for another namespace, because an expression may take long to compile.
const workers = 4

// countDelay is how late a Trigger's status counts its runs, so that those of a burst are counted together.
const countDelay = 2 * time.Second

func triggerOf(obj client.Object) ctrl.Request {
	s := obj.(*v1alpha1.Suite)
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Trigger.Name}}
}

// Reconcile writes the status: at once if the Trigger's condition or outcomes changed, otherwise at the pace of its counts.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.turns.Begin(req) {
		return ctrl.Result{}, nil
	}
	defer r.turns.End(req.Namespace)
	old, err := reconcile.Get[v1alpha1.Trigger](ctx, r, req.Namespace, req.Name)
	if old == nil && err == nil {
		r.pace.Forget(req.NamespacedName)
		r.problems.Delete(req.NamespacedName)
	}
	if err != nil || old == nil {
		return ctrl.Result{}, err
	}
	e, err := reconcile.Get[v1alpha1.Environment](ctx, r, old.Namespace, old.Spec.Environment)
	if err != nil {
		return ctrl.Result{}, err
	}
	_, incomplete, err := index.Complete(ctx, r, old)
	if err != nil {
		return ctrl.Result{}, err
	}
	teams, err := index.Claimants(ctx, r, old.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	warning, err := r.anyTypeWarning(ctx, old)
	if err != nil {
		return ctrl.Result{}, err
	}
	t := old.DeepCopy()
	spent := r.turns.Measure(req.Namespace)
	setReady(t, observed{environment: e, teams: teams, invalid: r.matchProblem(t), incomplete: incomplete, anyType: warning})
	spent()
	t.Status.NotifiedSince = announce.NotifiedSince(t, r.pace.Clock.Now())
	told := slices.ContainsFunc(teams, func(team v1alpha1.Team) bool { return announce.SelectsEnds(&team, t) }) || announce.SelectsEnds(nil, t)
	if wait := r.wait(old, t, told); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, r.count(ctx, old, t, told)
}

// matchProblem is what is wrong with the conditions of a generation of a Trigger.
type matchProblem struct {
	uid        types.UID
	generation int64
	message    string
}

// matchProblem compiles the conditions of a Trigger once for each generation: that may take 20 ms, and each run of a Trigger changes its
// counts.
func (r *Reconciler) matchProblem(t *v1alpha1.Trigger) string {
	name := client.ObjectKeyFromObject(t)
	value, _ := r.problems.Load(name)
	known, found := value.(matchProblem)
	if found && known.uid == t.UID && known.generation == t.Generation && t.Generation != 0 {
		return known.message
	}
	problem := matchProblem{uid: t.UID, generation: t.Generation}
	if _, err := match.Compile(t); err != nil {
		problem.message = err.Error()
	}
	r.problems.Store(name, problem)
	return problem.message
}

// Outcomes do not wait: the run that failed may be deleted meanwhile, and no message would tell of the recovery.
func (r *Reconciler) wait(old, t *v1alpha1.Trigger, told bool) time.Duration {
	if told || !equality.Semantic.DeepEqual(old.Status, t.Status) {
		return 0
	}
	return r.pace.Wait(client.ObjectKeyFromObject(t))
}

func (r *Reconciler) count(ctx context.Context, old, t *v1alpha1.Trigger, told bool) error {
	runs, err := index.Suites(ctx, r, old.Namespace, index.Trigger, old.Name)
	if err != nil {
		return err
	}
	countRuns(&t.Status, runs)
	if t.Status.Outcomes = announce.Outcomes(t.Status.Outcomes, runs); !told {
		t.Status.Outcomes = nil
	}
	if equality.Semantic.DeepEqual(old.Status, t.Status) || onlyProgress(old.Status, t.Status) {
		return nil
	}
	// No reconcile reads this status, so none has to wait until the cache has it.
	if err := r.Status().Patch(ctx, t, client.MergeFrom(old), client.DisableReadYourWritesConsistency); err != nil {
		return apierror.IgnoreNotFound(err)
	}
	r.pace.Wrote(client.ObjectKeyFromObject(t))
	r.recordStalled(old, t)
	return nil
}

// onlyProgress reports whether only the state of unfinished runs changed: that is not worth a write for each run.
func onlyProgress(before, after v1alpha1.TriggerStatus) bool {
	if before.LastSuite == nil || after.LastSuite == nil || underWay(before.LastSuite.State) != underWay(after.LastSuite.State) {
		return false
	}
	last := *before.LastSuite
	last.State = after.LastSuite.State
	before.LastSuite = &last
	return underWay(last.State) && equality.Semantic.DeepEqual(before, after)
}

func underWay(state string) bool {
	return state == v1alpha1.ReasonStarting || state == v1alpha1.ReasonRunning
}

func (r *Reconciler) recordStalled(old, t *v1alpha1.Trigger) {
	before := meta.FindStatusCondition(old.Status.Conditions, v1alpha1.ConditionStalled)
	now := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionStalled)
	if now != nil && (before == nil || before.Message != now.Message) {
		r.Recorder.Eventf(t, nil, corev1.EventTypeWarning, now.Reason, "Match", "%s", reconcile.ClipNote(now.Message))
	}
}

func countRuns(status *v1alpha1.TriggerStatus, runs []*v1alpha1.Suite) {
	status.ActiveSuites, status.QueuedSuites, status.LastSuite = 0, 0, nil
	var last *v1alpha1.Suite
	for _, s := range runs {
		switch {
		case s.Finished():
		case s.Status.JobName != "":
			status.ActiveSuites++
		default:
			status.QueuedSuites++
		}
		if last == nil || ledger.Compare(s, last) > 0 {
			last = s
		}
	}
	if last != nil {
		status.LastSuite = &v1alpha1.LastSuite{Name: last.Name, State: last.State(), ReceivedAt: last.Received()}
	}
}

// triggersWith finds the Triggers that name an object in a field: those of its namespace, or all if it belongs to the cluster.
func (r *Reconciler) triggersWith(field string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []ctrl.Request {
		list := &v1alpha1.TriggerList{}
		err := reconcile.Known(r).List(ctx, list, client.InNamespace(obj.GetNamespace()), client.MatchingFields{field: obj.GetName()},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the Triggers that name an object", field, obj.GetName())
			return nil
		}
		return reconcile.RequestsOfItems(list.Items)
	}
}

func (r *Reconciler) triggersOf(ctx context.Context, team client.Object) []ctrl.Request {
	list := &v1alpha1.TriggerList{}
	inNamespace := client.InNamespace(team.(*v1alpha1.Team).NamespaceName())
	if err := reconcile.Known(r).List(ctx, list, inNamespace, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Triggers of a Team", "team", team.GetName())
		return nil
	}
	return reconcile.RequestsOfItems(list.Items)
}

package deployed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// Reconciler keeps the status of Environments.
type Reconciler struct {
	client.Client
	Clock clock.PassiveClock
	Pods  client.Reader // reads from the API server, once for each rollout
	Notifier
	Recorder events.EventRecorder

	watches   *watches
	turns     *reconcile.Turns
	pace      *reconcile.Pace
	inventory *inventory // nil: there is no store
}

const (
	// retryEvery is how often something is looked at again that no event announces: rights, and kinds that were installed.
	retryEvery = 15 * time.Second

	// startingEvery is how soon after its start a watch is looked at that found nothing.
	startingEvery = time.Second
)

// +kubebuilder:rbac:groups=postflight.dev,resources=environments/status,verbs=patch

// Reconcile writes the status at once if a rollout has changed it, and otherwise at a pace that follows load.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.turns.Begin(req) {
		return ctrl.Result{}, nil
	}
	defer r.turns.End(req.Namespace)
	old, err := reconcile.Get[v1alpha1.Environment](ctx, r, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if old == nil || old.DeletionTimestamp != nil {
		r.watches.want(req.NamespacedName, nil)
		r.watches.expressions.forget(req.NamespacedName)
		r.pace.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait := r.pace.Wait(req.NamespacedName); wait > 0 && len(old.Spec.Workloads) == 0 && len(old.Status.Conditions) == 0 {
		return ctrl.Result{RequeueAfter: wait}, nil // notifications are in no hurry
	}
	observed, err := r.observe(ctx, old)
	if errors.Is(err, errStarting) {
		return ctrl.Result{RequeueAfter: startingEvery}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	e := old.DeepCopy()
	var problems []string
	spent := r.turns.Measure(req.Namespace)
	e.Status.Deployed, problems = workloads.Status(observed)
	spent()
	e.Status.Unarchived = r.unarchived(old, e)
	setReady(e, problems, r.shared(observed))
	late := r.notify(ctx, observed, e)
	wait, err := r.write(ctx, old, e)
	if late == writeFirst && e.ResourceVersion != old.ResourceVersion { // the API server has it
		observed.Environment, e = e, e.DeepCopy()
		late = r.notify(ctx, observed, e)
		wait, err = r.write(ctx, observed.Environment, e)
	}
	if len(problems) > 0 {
		wait = lifecycle.Sooner(wait, retryEvery)
	}
	return ctrl.Result{RequeueAfter: lifecycle.Sooner(wait, late)}, err
}

// write returns how long to wait before a change that is only progress is written.
func (r *Reconciler) write(ctx context.Context, old, e *v1alpha1.Environment) (time.Duration, error) {
	if equality.Semantic.DeepEqual(old.Status, e.Status) {
		return 0, nil
	}
	key := client.ObjectKeyFromObject(e)
	sameSpec := old.Status.ObservedGeneration == e.Status.ObservedGeneration // otherwise runs may wait for what is said about the new one
	if wait := r.pace.Wait(key); wait > 0 && sameSpec && !workloads.RolloutChanged(old.Status.Deployed, e.Status.Deployed) {
		return wait, nil
	}
	if err := r.Status().Patch(ctx, e, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})); err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	r.pace.Wrote(key)
	return 0, nil
}

func (r *Reconciler) unarchived(old, e *v1alpha1.Environment) []v1alpha1.EarlierDeployment {
	if r.inventory == nil {
		return nil
	}
	return workloads.Unarchived(old, e, r.inventory.archived(client.ObjectKeyFromObject(e)))
}

// setReady leaves an Environment without workloads without a condition: nothing has to become ready.
func setReady(e *v1alpha1.Environment, problems []string, shared string) {
	if len(e.Spec.Workloads) == 0 {
		meta.RemoveStatusCondition(&e.Status.Conditions, v1alpha1.ConditionReady)
		e.Status.ObservedGeneration = 0
		return
	}
	e.Status.ObservedGeneration = e.Generation
	notes := append([]string{"All workloads can be read." + shared}, workloads.MixedServices(e)...)
	ready := reconcile.Ready("WorkloadsRead", strings.Join(notes, " "))
	if len(problems) > 0 {
		ready = reconcile.NotReady("WorkloadsUnknown", problems[0])
		if more := len(problems) - 1; more > 0 {
			ready.Message += fmt.Sprintf(" And %d more.", more)
		}
	}
	ready.ObservedGeneration = e.Generation
	meta.SetStatusCondition(&e.Status.Conditions, ready)
}

// shared says which object another Environment of the namespace names as well, as a sentence after another one: that is allowed, and may be
// a mistake.
func (r *Reconciler) shared(o workloads.Observed) string {
	for _, f := range o.Found {
		if f.Object == nil {
			continue
		}
		if others := r.watches.namedBy(client.ObjectKeyFromObject(o.Environment), f.Source, f.Object); len(others) > 0 {
			return fmt.Sprintf(" The Environment %s names the %s %s, too.", others[0], f.Source.Kind, f.Object.GetName())
		}
	}
	return ""
}

func (r *Reconciler) observe(ctx context.Context, e *v1alpha1.Environment) (o workloads.Observed, err error) {
	o = workloads.Observed{Environment: e, Now: r.Clock.Now()}
	if o.Suites, err = index.Suites(ctx, r, e.Namespace, index.Deployed, e.Name); err != nil {
		return o, err
	}
	if len(e.Spec.Workloads) > 0 {
		if o.Team, err = index.Owner(ctx, r, e.Namespace); err != nil {
			return o, err
		}
	}
	if o.Found, err = r.find(e, o.Team); err != nil {
		return o, err
	}
	for i := range o.Found {
		if o.Found[i].Object != nil {
			o.Found[i].Digests = r.digests(ctx, e, o.Found[i])
		}
	}
	return o, nil
}

// find returns the objects that count, and watches them.
func (r *Reconciler) find(e *v1alpha1.Environment, team *v1alpha1.Team) (all []workloads.Found, err error) {
	defer r.turns.Measure(e.Namespace)()
	r.watches.want(client.ObjectKeyFromObject(e), interestsOf(e, team))
	all, err = finder{e, team, r.watches.expressions.get(e)}.findAll(
		func(_ v1alpha1.Workload, s workloads.Source, selection workloads.Selection) ([]*unstructured.Unstructured, string, error) {
			return r.watches.read(e.Namespace, s, selection)
		})
	return workloads.Counted(all), err
}

func interestsOf(e *v1alpha1.Environment, team *v1alpha1.Team) interests {
	all := interests{}
	for _, w := range e.Spec.Workloads {
		if s := workloads.SourceOf(e, w); workloads.Allowed(team, s, e, w.Name) == "" {
			all[s] = append(all[s], workloads.SelectionFor(e, team, w))
		}
	}
	return all
}

// digests asks for the pods of a rollout when it is complete, and only once. Without an answer, they stay unknown.
func (r *Reconciler) digests(ctx context.Context, e *v1alpha1.Environment, f workloads.Found) []v1alpha1.ImageDigest {
	spent, o := r.turns.Measure(e.Namespace), f.Object
	selector, needed := workloads.PodsToRead(e, f)
	if spent(); !needed {
		return nil
	}
	pods, complete, err := podsOf(ctx, r.Pods, o.GetNamespace(), selector)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("the pods of a workload cannot be read", "kind", o.GetKind(), "namespace", o.GetNamespace(), "name",
			o.GetName(), "problem", err.Error())
		return nil
	}
	digests := workloads.Digests(pods)
	if complete {
		r.watches.recent.put(o, digests)
	}
	return digests
}

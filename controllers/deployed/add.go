// Package deployed keeps what Environments have: it watches the workloads that they name.
package deployed

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// workers mostly wait for the API server. Each works for another namespace.
const workers = 8

// notifiedDelay lets the notifications of a burst be written together.
const notifiedDelay = 500 * time.Millisecond

// Add registers the reconciler with a manager, and its watches. Without a store, only what is deployed now is known.
func Add(mgr ctrl.Manager, shared *Workloads, clock clock.PassiveClock, notifier Notifier, store Store) error {
	r := &Reconciler{
		Client: mgr.GetClient(), Pods: mgr.GetAPIReader(), Clock: clock, Notifier: notifier, Recorder: mgr.GetEventRecorder("postflight"),
		watches: newWatches(shared, clock), turns: reconcile.NewTurns(), pace: reconcile.NewPace(clock),
	}
	if err := mgr.Add(r.watches); err != nil {
		return err
	}
	if store != nil {
		r.ledger = newLedger()
		archiver := &Archiver{Client: mgr.GetClient(), Store: store, Clock: clock, ledger: r.ledger}
		if err := archiver.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("deployed").
		For(&v1alpha1.Environment{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Suite{}, afterNotification(), builder.WithPredicates(predicate.Funcs{UpdateFunc: reconcile.Redeployed})).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.environmentsOfTeam), reconcile.SpecChanged).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		WatchesRawSource(source.Func(r.watches.feed)).
		WatchesRawSource(source.Func(r.turns.Feed)).
		WatchesRawSource(source.Func(r.ledger.feed)).
		Complete(retry.Conflicts(r))
}

func afterNotification() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	add := func(q queue, o client.Object) {
		s := o.(*v1alpha1.Suite)
		q.AddAfter(ctrl.Request{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Environment}}, notifiedDelay)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if !e.Object.(*v1alpha1.Suite).Finished() { // at a start, all runs are new
				add(q, e.Object)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(q, e.ObjectNew) },
	}
}

func (r *Reconciler) environmentsOfTeam(ctx context.Context, o client.Object) []ctrl.Request {
	list := &v1alpha1.EnvironmentList{}
	err := r.List(ctx, list, client.InNamespace(o.(*v1alpha1.Team).NamespaceName()), client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Environments of a Team")
		return nil
	}
	return reconcile.RequestsOfItems(list.Items)
}

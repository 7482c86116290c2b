// Package deployed keeps what Environments have: it watches the workloads that they name.
package deployed

import (
	"context"
	"time"

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
		r.inventory = newInventory()
		archiver := &Archiver{Client: mgr.GetClient(), Store: store, Clock: clock, inventory: r.inventory}
		if err := archiver.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("deployed").
		For(&v1alpha1.Environment{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Suite{}, reconcile.EnqueueAfter(notifiedDelay, environmentOf), builder.WithPredicates(notified)).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.environmentsOfTeam), reconcile.SpecChanged).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		WatchesRawSource(source.Func(r.watches.feed)).
		WatchesRawSource(source.Func(r.turns.Feed)).
		WatchesRawSource(source.Func(r.inventory.feed)).
		Complete(retry.Conflicts(r))
}

// notified are the runs of notifications, and those that a later notification has found. At a start, all runs are new.
var notified = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !e.Object.(*v1alpha1.Suite).Finished() },
	UpdateFunc: reconcile.Redeployed,
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func environmentOf(o client.Object) ctrl.Request {
	s := o.(*v1alpha1.Suite)
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Environment}}
}

func (r *Reconciler) environmentsOfTeam(ctx context.Context, o client.Object) []ctrl.Request {
	list := &v1alpha1.EnvironmentList{}
	err := reconcile.Known(r).List(ctx, list, client.InNamespace(o.(*v1alpha1.Team).NamespaceName()), client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Environments of a Team")
		return nil
	}
	return reconcile.RequestsOfItems(list.Items)
}

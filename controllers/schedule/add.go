// Package schedule starts the runs of the schedules of Triggers.
package schedule

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// workers start a thousand runs, whose Triggers have the same cron, within some 10 s. Each takes about 50 ms.
const workers = 8

// Add registers the reconciler with a manager. It looks at a Trigger when its spec changes, and when the next time has come.
func Add(mgr ctrl.Manager, clock clock.PassiveClock, notifier Notifier) error {
	r := &Reconciler{Client: mgr.GetClient(), Clock: clock, Notifier: notifier, Recorder: mgr.GetEventRecorder("postflight")}
	return ctrl.NewControllerManagedBy(mgr).
		Named("schedule").
		For(&v1alpha1.Trigger{}, builder.WithPredicates(predicate.NewPredicateFuncs(hasSchedule),
			predicate.Or(predicate.GenerationChangedPredicate{}, reconcile.Replaced))).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, ReconciliationTimeout: retry.Timeout, RateLimiter: retry.Backoff()}).
		Complete(retry.Conflicts(r))
}

// hasSchedule is also true if the schedule was removed, and its status was not.
func hasSchedule(o client.Object) bool {
	t := o.(*v1alpha1.Trigger)
	return t.Spec.Schedule != nil || t.Status.Schedule != nil
}

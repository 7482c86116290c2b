// Package retry says when a reconciler runs again, the same for all reconcilers.
package retry

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// By conflictRetryMin, the cache usually has the competing write.
	conflictRetryMin = 20 * time.Millisecond
	conflictRetryMax = time.Second

	// maxConflicts of one object in a row are normal. More mean that something is wrong, such as a cache that has stopped.
	maxConflicts = 6
)

// Spread is by how much waits vary, so that runs that wait for one host do not come back at the same instant.
const Spread = 0.1

// AtOnce is when to look again for what is left to do: 0 would mean not at all.
const AtOnce = time.Nanosecond

// Stale is when to look again if the cache is behind.
const Stale = 50 * time.Millisecond

// Timeout frees a worker from an API server, or a store, that does not answer. It is longer than any useful answer takes.
const Timeout = 2 * time.Minute

// Backoff bounds the pause after failures: after an outage of the API server, the default may wait a quarter of an hour.
func Backoff() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](5*time.Millisecond, 30*time.Second)
}

// Conflicts retries a conflict without an error in logs or metrics: several reconcilers write to a Suite, so conflicts are normal. So is
// whatever fails once the term of the leader has ended: the next one reconciles everything.
func Conflicts(next reconcile.Reconciler) reconcile.Reconciler {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](conflictRetryMin, conflictRetryMax)
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		result, err := next.Reconcile(ctx, req)
		if err != nil && errors.Is(ctx.Err(), context.Canceled) {
			ctrl.LoggerFrom(ctx).V(1).Info("the term has ended", "unfinished", err.Error())
			return ctrl.Result{}, nil
		}
		if !apierrors.IsConflict(err) {
			backoff.Forget(req)
			return result, err
		}
		if backoff.NumRequeues(req) >= maxConflicts {
			return ctrl.Result{}, err
		}
		ctrl.LoggerFrom(ctx).V(1).Info("another reconciler wrote first", "conflict", err.Error())
		return ctrl.Result{RequeueAfter: backoff.When(req)}, nil
	})
}

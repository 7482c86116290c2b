package controllers

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// conflictRetryMin is how long the cache takes at most, mostly, to have the write that was first.
	conflictRetryMin = 20 * time.Millisecond
	conflictRetryMax = time.Second

	// maxConflicts of one object in a row are normal. More mean that something is wrong, such as a cache that stands still.
	maxConflicts = 6
)

// conflictRetrier reconciles again after a conflict. Several reconcilers write to a Suite, so that one of them often
// finds that another was first. That is no error: neither a line in the log nor a failure in the metrics.
type conflictRetrier struct {
	next    reconcile.Reconciler
	backoff workqueue.TypedRateLimiter[ctrl.Request]
}

func retryConflicts(next reconcile.Reconciler) reconcile.Reconciler {
	return &conflictRetrier{
		next:    next,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](conflictRetryMin, conflictRetryMax),
	}
}

func (r *conflictRetrier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.next.Reconcile(ctx, req)
	if !apierrors.IsConflict(err) {
		r.backoff.Forget(req)
		return result, err
	}
	if r.backoff.NumRequeues(req) >= maxConflicts {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("another reconciler wrote first", "conflict", err.Error())
	return ctrl.Result{RequeueAfter: r.backoff.When(req)}, nil
}

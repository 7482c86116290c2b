package controllers

import (
	"context"
	"slices"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/index"
	"github.com/postflight-dev/postflight/internal/suite"
)

// enqueueAffected enqueues the Suites that the arrival, end or deletion of another one affects. The Suites that
// a manager finds when it starts are all reconciled anyway: with ten thousand, to enqueue the others for each of
// them took a minute.
func (r *SuiteReconciler) enqueueAffected() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	enqueue := func(ctx context.Context, q queue, obj client.Object, frees bool) {
		for _, req := range r.affectedBy(ctx, obj.(*v1alpha1.Suite), frees) {
			q.Add(req)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				enqueue(ctx, q, e.Object, false)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, now := suite.YieldsSlot(e.ObjectOld.(*v1alpha1.Suite)), suite.YieldsSlot(e.ObjectNew.(*v1alpha1.Suite))
			if ends(e) || before != now {
				enqueue(ctx, q, e.ObjectNew, ends(e) || now)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if !e.Object.(*v1alpha1.Suite).Finished() { // otherwise no run waited for it
				enqueue(ctx, q, e.Object, true)
			}
		},
	}
}

// affectedBy are the rest of the stream, and those in the queue that may take a slot which s frees, or whose
// position changes because s is ahead of them.
func (r *SuiteReconciler) affectedBy(ctx context.Context, s *v1alpha1.Suite, frees bool) []ctrl.Request {
	var stream, queue []*v1alpha1.Suite
	var err error
	if key := suite.StreamKey(s); key != "" {
		stream, err = r.suites(ctx, s.Namespace, client.MatchingFields{index.UnfinishedStream: key})
	}
	if err == nil && (frees || !s.Finished()) {
		queue, err = r.nextInQueue(ctx, s, frees)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the runs that another one affects", "suite", s.Name)
		return nil
	}
	return requests(slices.DeleteFunc(append(stream, queue...), func(other *v1alpha1.Suite) bool { return other.Name == s.Name }))
}

// nextInQueue are the runs that wait for the slots that s uses; if s frees none, only those behind it.
func (r *SuiteReconciler) nextInQueue(ctx context.Context, s *v1alpha1.Suite, frees bool) ([]*v1alpha1.Suite, error) {
	team, err := index.Owner(ctx, r, s.Namespace)
	if err != nil || team == nil {
		return nil, err
	}
	t, _, err := r.trigger(ctx, s)
	if err != nil {
		return nil, err
	}
	e, err := get[v1alpha1.Environment](ctx, r, s.Namespace, s.Spec.Environment)
	if err != nil || (t != nil && !suite.NeedsSlot(team, t, e)) {
		return nil, err
	}
	limits, err := r.limits(ctx, team, s.Namespace)
	if err != nil {
		return nil, err
	}
	unfinished, err := r.suites(ctx, s.Namespace, client.MatchingFields{index.Unfinished: "true"})
	if err != nil {
		return nil, err
	}
	blocked := suite.Blocked(unfinished)
	waiting := slices.DeleteFunc(unfinished, func(other *v1alpha1.Suite) bool {
		return other.Status.JobName != "" || (!frees && suite.Compare(other, s) <= 0)
	})
	return suite.NextInQueue(waiting, blocked, limits), nil
}

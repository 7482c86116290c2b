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
	"github.com/postflight-dev/postflight/internal/suite"
)

// wakeOthers has those Suites reconciled that another's arrival, end or deletion concerns. Those that a
// manager finds when it starts wake nobody: all are looked at anyway, and a look from each at the others
// took it a minute where there were ten thousand.
func (r *SuiteReconciler) wakeOthers() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	wake := func(ctx context.Context, q queue, obj client.Object, frees bool) {
		for _, req := range r.concernedBy(ctx, obj.(*v1alpha1.Suite), frees) {
			q.Add(req)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				wake(ctx, q, e.Object, false)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, now := suite.LeavesTurn(e.ObjectOld.(*v1alpha1.Suite)), suite.LeavesTurn(e.ObjectNew.(*v1alpha1.Suite))
			if ends(e) || before != now {
				wake(ctx, q, e.ObjectNew, ends(e) || now)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if !e.Object.(*v1alpha1.Suite).Finished() { // else nobody waited for it
				wake(ctx, q, e.Object, true)
			}
		},
	}
}

// concernedBy are the rest of the stream, and of the queue all who may take a slot that s frees, or
// those who move back because s takes a place before theirs.
func (r *SuiteReconciler) concernedBy(ctx context.Context, s *v1alpha1.Suite, frees bool) []ctrl.Request {
	var stream, queue []*v1alpha1.Suite
	var err error
	if key := suite.StreamKey(s); key != "" {
		stream, err = r.suites(ctx, s.Namespace, client.MatchingFields{indexUnfinishedStream: key})
	}
	if err == nil && (frees || !s.Finished()) {
		queue, err = r.frontOf(ctx, s, frees)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot tell which runs another one concerns", "suite", s.Name)
		return nil
	}
	return requests(slices.DeleteFunc(append(stream, queue...), func(other *v1alpha1.Suite) bool { return other.Name == s.Name }))
}

// frontOf the queue for slots of the kind that s takes; where s frees none, only those behind it.
func (r *SuiteReconciler) frontOf(ctx context.Context, s *v1alpha1.Suite, frees bool) ([]*v1alpha1.Suite, error) {
	team, err := r.owner(ctx, s.Namespace)
	if err != nil || team == nil {
		return nil, err
	}
	t, _, err := r.trigger(ctx, s)
	if err != nil {
		return nil, err
	}
	e, err := get[v1alpha1.Environment](ctx, r, s.Namespace, s.Spec.Environment)
	if err != nil || (t != nil && !limited(team, t, e)) {
		return nil, err
	}
	limits, err := r.limits(ctx, team, s.Namespace)
	if err != nil {
		return nil, err
	}
	unfinished, err := r.suites(ctx, s.Namespace, client.MatchingFields{indexUnfinished: "true"})
	if err != nil {
		return nil, err
	}
	stuck := suite.Stuck(unfinished)
	waiting := slices.DeleteFunc(unfinished, func(other *v1alpha1.Suite) bool {
		return other.Status.JobName != "" || (!frees && suite.Compare(other, s) <= 0)
	})
	return suite.Front(waiting, stuck, limits), nil
}

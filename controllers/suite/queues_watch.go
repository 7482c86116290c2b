package suite

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// source makes known where to enqueue runs, before the first of them is reconciled.
func (q *queues) source() source.Source {
	return source.Func(func(_ context.Context, requests workQueue) error {
		q.requests = requests
		return nil
	})
}

// The objects that a manager finds when it starts enqueue nothing, because all Suites are reconciled then.
func observed[T client.Object](q *queues, set, gone func(*queue.Queue, T)) handler.Funcs {
	change := func(requests workQueue, obj client.Object, f func(*queue.Queue, T)) {
		q.change(requests, obj.GetNamespace(), func(waiting *queue.Queue) { f(waiting, obj.(T)) })
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, requests workQueue) {
			if e.IsInInitialList {
				q.read(e.Object.GetNamespace(), func(waiting *queue.Queue) { set(waiting, e.Object.(T)) })
				return
			}
			change(requests, e.Object, set)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, requests workQueue) { change(requests, e.ObjectNew, set) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, requests workQueue) { change(requests, e.Object, gone) },
	}
}

func (q *queues) suites() handler.EventHandler {
	h := observed(q, (*queue.Queue).Set, func(waiting *queue.Queue, s *v1alpha1.Suite) { waiting.Delete(s.Name) })
	later := h.CreateFunc
	h.CreateFunc = func(ctx context.Context, e event.CreateEvent, requests workQueue) {
		if !e.IsInInitialList {
			q.arrive(requests, e.Object.(*v1alpha1.Suite))
			return
		}
		later(ctx, e, requests)
		(&handler.EnqueueRequestForObject{}).Create(ctx, e, requests)
	}
	return h
}

func (q *queues) jobs() handler.EventHandler {
	return observed(q,
		func(waiting *queue.Queue, j *batchv1.Job) { waiting.SetJob(j.Name, outcome.CompletionTime(j) == nil) },
		func(waiting *queue.Queue, j *batchv1.Job) { waiting.SetJob(j.Name, false) })
}

func (q *queues) triggers() handler.EventHandler {
	return observed(q,
		func(waiting *queue.Queue, t *v1alpha1.Trigger) {
			waiting.SetTriggerLimit(t.Name, t.Spec.MaxConcurrentSuites)
		},
		func(waiting *queue.Queue, t *v1alpha1.Trigger) { waiting.SetTriggerLimit(t.Name, 0) })
}

func (q *queues) environments(runsOf listRuns) handler.EventHandler {
	return observed(q,
		func(waiting *queue.Queue, e *v1alpha1.Environment) {
			waiting.SetEnvironmentLimit(e.Name, e.Spec.MaxConcurrentSuites)
			waiting.SetHold(e.Name, e.HeldUntil(q.clock.Now()))
			waiting.SetSettle(e, func() []*v1alpha1.Suite { return runsOf(e) })
		},
		func(waiting *queue.Queue, e *v1alpha1.Environment) {
			waiting.SetEnvironmentLimit(e.Name, 0)
			waiting.SetHold(e.Name, time.Time{})
			waiting.RemoveSettle(e.Name)
		})
}

// Any change of a Team may change the limit of its namespace.
func (q *queues) teams(reader client.Reader) handler.EventHandler {
	update := func(ctx context.Context, requests workQueue, obj client.Object) {
		namespace := obj.(*v1alpha1.Team).NamespaceName()
		owner, err := index.Owner(ctx, reconcile.Known(reader), namespace)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the Team of the namespace", "namespace", namespace)
			return
		}
		q.change(requests, namespace, func(waiting *queue.Queue) { waiting.SetTeamLimit(teamLimit(owner)) })
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, requests workQueue) { update(ctx, requests, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, requests workQueue) {
			update(ctx, requests, e.ObjectOld)
			update(ctx, requests, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, requests workQueue) { update(ctx, requests, e.Object) },
	}
}

func teamLimit(team *v1alpha1.Team) int32 {
	if team == nil {
		return 0
	}
	return team.Spec.MaxConcurrentSuites
}

// setLimits takes the limits that a reconcile has read: the watches may not have reported them yet.
func setLimits(waiting *queue.Queue, o lifecycle.Observation) {
	waiting.SetTeamLimit(teamLimit(o.Team))
	waiting.SetTriggerLimit(o.Trigger.Name, o.Trigger.Spec.MaxConcurrentSuites)
	waiting.SetEnvironmentLimit(o.Environment.Name, o.Environment.Spec.MaxConcurrentSuites)
}

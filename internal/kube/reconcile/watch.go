package reconcile

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Concerning ignores runs that a controller has nothing to do for, but not their deletion, with which it forgets them.
func Concerning(concerns func(*v1alpha1.Suite) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerns(e.Object.(*v1alpha1.Suite)) },
		UpdateFunc: func(e event.UpdateEvent) bool { return concerns(e.ObjectNew.(*v1alpha1.Suite)) },
	}
}

// SpecChanged ignores the status of a Trigger, which changes with each of its runs.
var SpecChanged = builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, Replaced))

// Replaced detects an object recreated while the watch was interrupted, reported as an update of the same generation.
var Replaced = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() }}

// Redeployed reports whether a notification found a run: a deployment that has no Suite of its own.
func Redeployed(e event.UpdateEvent) bool {
	return !ledger.Last(e.ObjectOld.(*v1alpha1.Suite)).Equal(ledger.Last(e.ObjectNew.(*v1alpha1.Suite)))
}

// JustEnded is the end of a run.
var JustEnded = predicate.Funcs{UpdateFunc: Ends}

// JustArchived is the end of a run's archiving.
var JustArchived = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return !e.ObjectOld.(*v1alpha1.Suite).Archived() && e.ObjectNew.(*v1alpha1.Suite).Archived()
}}

// Ends reports whether an update ends a run.
func Ends(e event.UpdateEvent) bool {
	return !e.ObjectOld.(*v1alpha1.Suite).Finished() && e.ObjectNew.(*v1alpha1.Suite).Finished()
}

// SuitesWhere returns requests for the Suites of a namespace, in a cache, that something is left to do for.
func SuitesWhere(
	ctx context.Context, c client.Reader, left func(*v1alpha1.Suite) bool, namespace string, options ...client.ListOption,
) (all []ctrl.Request) {
	suites, err := index.SuitesWith(ctx, Known(c), append(options, client.InNamespace(namespace))...)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the runs that a change concerns", "namespace", namespace, "of", options)
		return nil
	}
	for _, s := range suites {
		if left(s) {
			all = append(all, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return all
}

// EnqueueAfter reconciles the changes of a burst together.
func EnqueueAfter(delay time.Duration, requestOf func(client.Object) ctrl.Request) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	add := func(q queue, obj client.Object) { q.AddAfter(requestOf(obj), delay) }
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(q, e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(q, e.Object) },
	}
}

// Requests reconciles objects.
func Requests[T client.Object](objects []T) []ctrl.Request {
	reqs := make([]ctrl.Request, len(objects))
	for i, o := range objects {
		reqs[i].NamespacedName = client.ObjectKeyFromObject(o)
	}
	return reqs
}

// RequestsOfItems reconciles the items of a list.
func RequestsOfItems[T any, P interface {
	*T
	client.Object
}](items []T) []ctrl.Request {
	reqs := make([]ctrl.Request, len(items))
	for i := range items {
		reqs[i].NamespacedName = client.ObjectKeyFromObject(P(&items[i]))
	}
	return reqs
}

package suite

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// A starting manager reconciles all Suites anyway: to enqueue the rest of the stream for each of ten thousand took a minute.
func (r *Reconciler) enqueueStream() handler.EventHandler {
	enqueue := func(ctx context.Context, q workQueue, obj client.Object) {
		for _, req := range r.restOfStream(ctx, obj.(*v1alpha1.Suite)) {
			q.Add(req)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workQueue) {
			r.streams.change(nil, e.Object.(*v1alpha1.Suite))
			if !e.IsInInitialList {
				enqueue(ctx, q, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workQueue) {
			r.streams.change(e.ObjectOld.(*v1alpha1.Suite), e.ObjectNew.(*v1alpha1.Suite))
			if reconcile.Ends(e) || reconcile.Redeployed(e) {
				enqueue(ctx, q, e.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workQueue) {
			r.streams.change(e.Object.(*v1alpha1.Suite), nil)
			if !e.Object.(*v1alpha1.Suite).Finished() { // otherwise no run waited for it
				enqueue(ctx, q, e.Object)
			}
		},
	}
}

func (r *Reconciler) restOfStream(ctx context.Context, s *v1alpha1.Suite) []ctrl.Request {
	id := streamIDOf(s)
	if id.key == "" {
		return nil
	}
	stream, err := r.suites(ctx, id.namespace, client.MatchingFields{index.UnfinishedStream: id.key})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the stream of a run", "suite", s.Name)
		return nil
	}
	return reconcile.Requests(slices.DeleteFunc(stream, func(other *v1alpha1.Suite) bool { return other.Name == s.Name }))
}

// The queue handles a limit that becomes another: few of the waiting runs may start for it. Without any limit, all start.
var moreThanLimitChanged = builder.WithPredicates(predicate.Or(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	if e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() {
		return false
	}
	old, updated := e.ObjectOld.DeepCopyObject(), e.ObjectNew.DeepCopyObject()
	before, now := limitOf(old), limitOf(updated)
	if *now == 0 {
		return true
	}
	*before, *now = 0, 0
	return !equality.Semantic.DeepEqual(specOf(old), specOf(updated))
}}, reconcile.Replaced))

func limitOf(o runtime.Object) *int32 {
	switch o := o.(type) {
	case *v1alpha1.Team:
		return &o.Spec.MaxConcurrentSuites
	case *v1alpha1.Trigger:
		return &o.Spec.MaxConcurrentSuites
	default:
		return &o.(*v1alpha1.Environment).Spec.MaxConcurrentSuites
	}
}

func specOf(o runtime.Object) any {
	switch o := o.(type) {
	case *v1alpha1.Team:
		return o.Spec
	case *v1alpha1.Trigger:
		return o.Spec
	default:
		return o.(*v1alpha1.Environment).Spec
	}
}

package archive

import (
	"context"
	"math/bits"
	"sync"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
)

// backlog lowers the priority of a namespace with many unarchived runs: a team that ends hundreds delays its own.
type backlog struct {
	mu   sync.Mutex
	runs map[string]map[string]bool // by namespace and name
	size int
}

func newBacklog() *backlog { return &backlog{runs: map[string]map[string]bool{}} }

// add returns the priority of the run. It has few values, because a metric of the queue has it as a label.
func (b *backlog) add(req ctrl.Request) (priority int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.runs[req.Namespace]
	if own == nil {
		own = map[string]bool{}
		b.runs[req.Namespace] = own
	}
	ahead := len(own)
	if !own[req.Name] {
		own[req.Name] = true
		b.size++
	}
	return -bits.Len(uint(ahead))
}

func (b *backlog) remove(req ctrl.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.runs[req.Namespace]
	if !own[req.Name] {
		return
	}
	b.size--
	delete(own, req.Name)
	if len(own) == 0 {
		delete(b.runs, req.Namespace)
	}
}

func (b *backlog) len() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.size)
}

// The reconciler knows when to try again, so a run is enqueued once.
func (b *backlog) handler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	enqueue := func(q queue, obj client.Object) {
		req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
		priority := b.add(req)
		if q, ok := q.(priorityqueue.PriorityQueue[ctrl.Request]); ok {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
			return
		}
		q.Add(req)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if lifecycle.ToArchive(e.Object.(*v1alpha1.Suite)) {
				enqueue(q, e.Object)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, now := lifecycle.ToArchive(e.ObjectOld.(*v1alpha1.Suite)), lifecycle.ToArchive(e.ObjectNew.(*v1alpha1.Suite))
			switch {
			case now && !before:
				enqueue(q, e.ObjectNew)
			case before && !now:
				b.remove(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			b.remove(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	}
}

package suite

import (
	"math/bits"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

// positionInterval delays the message of the nth moved run n times, so that a queue that moves fast does not cost a write for each step.
const positionInterval = time.Second

// lastPriority is below that of the objects found at the start: status messages come after every Job that can be created.
const lastPriority = 2 * handler.LowPriority

type workQueue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// Each queue has a lock of its own, which is never held during a request to the API server.
type queues struct {
	mu          sync.Mutex
	byNamespace map[string]*namespaceQueue

	requests workQueue // of the Reconciler, once it runs
}

type namespaceQueue struct {
	mu sync.Mutex
	*suite.Queue
}

func newQueues() *queues { return &queues{byNamespace: map[string]*namespaceQueue{}} }

func (q *queues) of(namespace string) *namespaceQueue {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.byNamespace[namespace]
	if n == nil {
		n = &namespaceQueue{Queue: suite.NewQueue()}
		q.byNamespace[namespace] = n
	}
	return n
}

func (q *queues) read(namespace string, f func(*suite.Queue)) {
	n := q.of(namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.Queue)
}

// change calls f with the queue of a namespace, and enqueues the runs that may start for it, and later those whose position changes.
func (q *queues) change(requests workQueue, namespace string, f func(*suite.Queue)) {
	var start, moved []*v1alpha1.Suite
	var ready int
	q.read(namespace, func(queue *suite.Queue) {
		f(queue)
		start, moved = queue.Next()
		ready = queue.Ready()
	})
	for _, s := range start {
		enqueue(requests, requestOf(s), priorityqueue.AddOpts{Priority: startPriority(ready)})
	}
	for i, s := range moved {
		enqueue(requests, requestOf(s), priorityqueue.AddOpts{After: time.Duration(i+1) * positionInterval, Priority: new(lastPriority)})
	}
}

// startPriority is the lower, the more runs of the namespace may start: a team that starts hundreds of runs at once
// delays its own, and hardly those of others. It has few values, because a metric has it as a label.
func startPriority(ready int) *int { return new(-bits.Len(uint(max(0, ready-1)))) }

func (q *queues) statusPriority(namespace string) *int {
	length := 0
	q.read(namespace, func(queue *suite.Queue) { length = queue.Len() })
	return new(lastPriority - bits.Len(uint(length)))
}

func (q *queues) arrive(requests workQueue, s *v1alpha1.Suite) {
	starts, ready := false, 0
	q.change(requests, s.Namespace, func(queue *suite.Queue) {
		queue.Set(s)
		starts, ready = queue.MayStart(s.Name), queue.Ready()
	})
	priority := startPriority(ready)
	if !starts && !s.Finished() {
		priority = q.statusPriority(s.Namespace)
	}
	enqueue(requests, requestOf(s), priorityqueue.AddOpts{Priority: priority})
}

// claim sets the limits again, because an older event may have come in between.
func (q *queues) claim(o suite.Observation) (claimed bool) {
	q.read(o.Suite.Namespace, func(queue *suite.Queue) {
		setLimits(queue, o)
		claimed = queue.Claim(o.Suite.Name)
	})
	return claimed
}

func (q *queues) release(s *v1alpha1.Suite) {
	released := false
	q.read(s.Namespace, func(queue *suite.Queue) { released = queue.Release(s.Name) })
	if released {
		q.change(q.requests, s.Namespace, func(*suite.Queue) {})
	}
}

// enqueue ignores the options if the manager has no queue with priorities.
func enqueue(requests workQueue, req ctrl.Request, options priorityqueue.AddOpts) {
	if q, ok := requests.(priorityqueue.PriorityQueue[ctrl.Request]); ok {
		q.AddWithOpts(options, req)
		return
	}
	requests.AddAfter(req, options.After)
}

func requestOf(s *v1alpha1.Suite) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)}
}

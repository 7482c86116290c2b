package suite

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// positionInterval delays the message of the nth moved run n times, so that a queue that moves fast does not cost a write for each step.
const positionInterval = time.Second

type workQueue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// queues are the queue.Queue of each namespace. Without them, each decision would sort all waiting runs, and two workers could take the
// same slot. Each has a lock of its own, which is never held during a request to the API server.
type queues struct {
	clock       clock.PassiveClock
	mu          sync.Mutex
	byNamespace map[string]*namespaceQueue

	requests workQueue // of the Reconciler, once it runs
}

type namespaceQueue struct {
	mu sync.Mutex
	*queue.Queue
}

func newQueues(c clock.PassiveClock) *queues {
	return &queues{clock: c, byNamespace: map[string]*namespaceQueue{}}
}

func (q *queues) queue(namespace string) *namespaceQueue {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.byNamespace[namespace]
	if n == nil {
		n = &namespaceQueue{Queue: queue.New()}
		q.byNamespace[namespace] = n
	}
	return n
}

func (q *queues) read(namespace string, f func(*queue.Queue)) {
	n := q.queue(namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.Queue)
}

// change calls f with the queue of a namespace, and enqueues the runs that may start for it, and later those whose position changes.
func (q *queues) change(requests workQueue, namespace string, f func(*queue.Queue)) {
	var start, moved []*v1alpha1.Suite
	var priority int
	q.read(namespace, func(waiting *queue.Queue) {
		waiting.EndWaits(q.clock.Now()) // otherwise, what f changes would wait again for an end that is over
		f(waiting)
		start, moved = waiting.Next()
		priority = waiting.StartPriority()
	})
	for _, s := range start {
		enqueue(requests, requestOf(s), priorityqueue.AddOpts{Priority: &priority})
	}
	for i, s := range moved {
		enqueue(requests, requestOf(s), priorityqueue.AddOpts{After: time.Duration(i+1) * positionInterval, Priority: new(queue.LastPriority)})
	}
}

func (q *queues) startPriority(namespace string) *int {
	var priority int
	q.read(namespace, func(waiting *queue.Queue) { priority = waiting.StartPriority() })
	return &priority
}

func (q *queues) statusPriority(namespace string) *int {
	var priority int
	q.read(namespace, func(waiting *queue.Queue) { priority = waiting.StatusPriority() })
	return &priority
}

func (q *queues) arrive(requests workQueue, s *v1alpha1.Suite) {
	var priority int
	q.change(requests, s.Namespace, func(waiting *queue.Queue) {
		waiting.Set(s)
		priority = waiting.Priority(s)
	})
	enqueue(requests, requestOf(s), priorityqueue.AddOpts{Priority: &priority})
}

// claim sets the limits again, because an older event may have come in between.
func (q *queues) claim(o lifecycle.Observation) (claimed bool) {
	q.read(o.Suite.Namespace, func(waiting *queue.Queue) {
		setLimits(waiting, o)
		claimed = waiting.Claim(o.Suite.Name)
	})
	return claimed
}

// burst takes spec.settle again, because the watch may not have reported it yet.
func (q *queues) burst(e *v1alpha1.Environment, runsOf listRuns) (b queue.Burst) {
	q.read(e.Namespace, func(waiting *queue.Queue) {
		waiting.SetSettle(e, func() []*v1alpha1.Suite { return runsOf(e) })
		b = waiting.Burst(e.Name)
	})
	return b
}

// endWaits is for the first run that is reconciled after the end of a hold, or once its Environment has settled: the others may now
// start, or move.
func (q *queues) endWaits(namespace string) {
	ended := false
	q.read(namespace, func(waiting *queue.Queue) { ended = waiting.EndWaits(q.clock.Now()) })
	if ended {
		q.change(q.requests, namespace, func(*queue.Queue) {})
	}
}

func (q *queues) release(s *v1alpha1.Suite) {
	released := false
	q.read(s.Namespace, func(waiting *queue.Queue) { released = waiting.Release(s.Name) })
	if released {
		q.change(q.requests, s.Namespace, func(*queue.Queue) {})
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

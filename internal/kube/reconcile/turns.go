package reconcile

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// pausePerSpent makes what one namespace computes a fifth of a processor at most, whatever its expressions and selectors cost.
	pausePerSpent = 4

	// manyNamespaces is when those are forgotten that nothing is known of any more: they may be gone.
	manyNamespaces = 100
)

// Turns let one object of a namespace be reconciled at a time, and after what it cost, the namespace pauses. Other namespaces do not wait,
// unless as many as there are workers compute.
type Turns struct {
	clock clock.PassiveClock

	mu          sync.Mutex
	queue       workqueue.TypedRateLimitingInterface[ctrl.Request]
	byNamespace map[string]*namespaceTurn
}

type namespaceTurn struct {
	busy    bool
	free    time.Time      // when the pause is over
	spent   time.Duration  // since it is busy
	waiting []ctrl.Request // in order of arrival
	waits   map[ctrl.Request]bool
}

// NewTurns returns Turns for one controller. They use the steady clock of the process: a step of another one would count as spent.
func NewTurns() *Turns {
	return &Turns{clock: clock.RealClock{}, byNamespace: map[string]*namespaceTurn{}}
}

// Feed is a source of requests, which the controller must watch.
func (t *Turns) Feed(_ context.Context, q workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = q
	return nil
}

// Begin reports whether it is the turn of an object. If not, its request comes again by itself.
func (t *Turns) Begin(req ctrl.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byNamespace[req.Namespace]
	if n == nil {
		n = &namespaceTurn{waits: map[ctrl.Request]bool{}}
		t.byNamespace[req.Namespace] = n
	}
	pause := n.free.Sub(t.clock.Now())
	switch {
	case n.busy:
		if !n.waits[req] {
			n.waits[req], n.waiting = true, append(n.waiting, req)
		}
	case pause > 0:
		t.queue.AddAfter(req, pause)
	default:
		n.busy, n.spent = true, 0
		return true
	}
	return false
}

// Measure counts the time until stop as spent by a namespace, between Begin and End.
func (t *Turns) Measure(namespace string) (stop func()) {
	began := t.clock.Now()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.byNamespace[namespace].spent += t.clock.Since(began)
	}
}

// End lets the next one begin after the pause.
func (t *Turns) End(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byNamespace[namespace]
	pause := pausePerSpent * n.spent
	n.busy, n.free = false, t.clock.Now().Add(pause)
	switch {
	case len(n.waiting) > 0:
		delete(n.waits, n.waiting[0])
		t.queue.AddAfter(n.waiting[0], pause)
		n.waiting = n.waiting[1:]
	case len(t.byNamespace) > manyNamespaces:
		maps.DeleteFunc(t.byNamespace, func(_ string, n *namespaceTurn) bool {
			return !n.busy && len(n.waiting) == 0 && !n.free.After(t.clock.Now())
		})
	}
}

package deployed

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// workers mostly wait for the API server. Each works for another namespace.
	workers = 8

	// pausePerSpent makes what one namespace computes a fifth of a processor at most, whatever its expressions and selectors cost.
	pausePerSpent = 4

	// manyNamespaces is when those are forgotten that nothing is known of any more: they may be gone.
	manyNamespaces = 100
)

// turns let one Environment of a namespace be looked at at a time, and after what it cost, the namespace pauses.
type turns struct {
	clock clock.PassiveClock

	mu          sync.Mutex
	queue       queue // nil before feed
	byNamespace map[string]*namespaceTurn
}

type namespaceTurn struct {
	busy    bool
	free    time.Time      // when the pause is over
	spent   time.Duration  // by the one that is looked at
	waiting []ctrl.Request // since it is busy, in order of arrival
}

func newTurns(clock clock.PassiveClock) *turns {
	return &turns{clock: clock, byNamespace: map[string]*namespaceTurn{}}
}

// feed is a source of requests.
func (t *turns) feed(_ context.Context, q queue) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = q
	return nil
}

// begin reports whether it is the turn of an Environment. If not, it comes again by itself.
func (t *turns) begin(req ctrl.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byNamespace[req.Namespace]
	if n == nil {
		n = &namespaceTurn{}
		t.byNamespace[req.Namespace] = n
	}
	pause := n.free.Sub(t.clock.Now())
	switch {
	case n.busy:
		if !slices.Contains(n.waiting, req) {
			n.waiting = append(n.waiting, req)
		}
	case pause > 0:
		t.queue.AddAfter(req, pause)
	default:
		n.busy, n.spent = true, 0
		return true
	}
	return false
}

// measure counts the time until stop as spent by a namespace.
func (t *turns) measure(namespace string) (stop func()) {
	began := t.clock.Now()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.byNamespace[namespace].spent += t.clock.Since(began)
	}
}

// end lets the next one begin after the pause.
func (t *turns) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byNamespace[namespace]
	pause := pausePerSpent * n.spent
	n.busy, n.free = false, t.clock.Now().Add(pause)
	switch {
	case len(n.waiting) > 0:
		t.queue.AddAfter(n.waiting[0], pause)
		n.waiting = n.waiting[1:]
	case len(t.byNamespace) > manyNamespaces:
		maps.DeleteFunc(t.byNamespace, func(_ string, n *namespaceTurn) bool {
			return !n.busy && len(n.waiting) == 0 && !n.free.After(t.clock.Now())
		})
	}
}

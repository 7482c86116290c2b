package runs

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Broadcaster wakes the requests that wait for a run to change. They share a channel per run, so waiting costs no goroutine.
type Broadcaster struct {
	mu            sync.Mutex
	subscriptions map[types.NamespacedName]*subscription
	closed        bool
}

type subscription struct {
	changed     chan struct{} // closed at the next change
	subscribers int
}

// newBroadcaster has no subscribers.
func newBroadcaster() *Broadcaster {
	return &Broadcaster{subscriptions: map[types.NamespacedName]*subscription{}}
}

// Subscribe returns a channel that the next Publish closes. To miss nothing, subscribe, then read, then wait.
func (b *Broadcaster) Subscribe(run types.NamespacedName) (changed <-chan struct{}, unsubscribe func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.subscriptions[run]
	if s == nil {
		s = &subscription{changed: make(chan struct{})}
		if b.closed {
			close(s.changed)
			return s.changed, func() {}
		}
		b.subscriptions[run] = s
	}
	s.subscribers++
	return s.changed, func() { b.unsubscribe(run, s) }
}

func (b *Broadcaster) unsubscribe(run types.NamespacedName, s *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.subscribers--
	if s.subscribers == 0 && b.subscriptions[run] == s { // after a Publish there may be another one
		delete(b.subscriptions, run)
	}
}

// Publish wakes all subscribers of the run.
func (b *Broadcaster) Publish(run types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.subscriptions[run]; s != nil {
		close(s.changed)
		delete(b.subscriptions, run)
	}
}

// Close wakes everyone, now and from now on.
func (b *Broadcaster) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subscriptions {
		close(s.changed)
	}
	clear(b.subscriptions)
}

// Closed reports whether Close was called.
func (b *Broadcaster) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// InUse is how many runs are waited for.
func (b *Broadcaster) InUse() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subscriptions)
}

package endpoint

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// broadcaster wakes the requests that wait for a run to change. All that wait for one run share a channel,
// which is closed at the change: this costs one map entry and no goroutine, however many wait.
type broadcaster struct {
	mu            sync.Mutex
	subscriptions map[types.NamespacedName]*subscription
	closed        bool
}

type subscription struct {
	changed     chan struct{} // closed at the next change
	subscribers int
}

func newBroadcaster() *broadcaster {
	return &broadcaster{subscriptions: map[types.NamespacedName]*subscription{}}
}

// Subscribe returns a channel that is closed by the first Publish after the call. Subscribe first, then read,
// then wait: so you miss nothing.
func (b *broadcaster) Subscribe(run types.NamespacedName) (changed <-chan struct{}, unsubscribe func()) {
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

func (b *broadcaster) unsubscribe(run types.NamespacedName, s *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.subscribers--
	if s.subscribers == 0 && b.subscriptions[run] == s { // after a Publish there may be another one
		delete(b.subscriptions, run)
	}
}

// Publish wakes all subscribers of the run.
func (b *broadcaster) Publish(run types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.subscriptions[run]; s != nil {
		close(s.changed)
		delete(b.subscriptions, run)
	}
}

// Close wakes everyone, now and from now on.
func (b *broadcaster) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subscriptions {
		close(s.changed)
	}
	clear(b.subscriptions)
}

func (b *broadcaster) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

package live

import "sync"

// Broadcaster wakes the live pages of a namespace.
type Broadcaster struct {
	mu          sync.Mutex
	byNamespace map[string]map[chan struct{}]bool
	changes     map[string]uint64 // by namespace
	closed      chan struct{}
	closeOnce   sync.Once
}

// NewBroadcaster returns a Broadcaster without subscribers.
func NewBroadcaster() *Broadcaster {
	return &Broadcaster{byNamespace: map[string]map[chan struct{}]bool{}, changes: map[string]uint64{}, closed: make(chan struct{})}
}

// Subscribe returns a channel that has a value after one or more changes.
func (b *Broadcaster) Subscribe(namespace string) (changed <-chan struct{}, unsubscribe func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byNamespace[namespace] == nil {
		b.byNamespace[namespace] = map[chan struct{}]bool{}
	}
	b.byNamespace[namespace][c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.byNamespace[namespace], c)
		if len(b.byNamespace[namespace]) == 0 {
			delete(b.byNamespace, namespace)
		}
	}
}

// Publish never blocks: a subscriber that has not read the last change sees this one with it.
func (b *Broadcaster) Publish(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes[namespace]++
	for c := range b.byNamespace[namespace] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Count is how many changes a namespace had.
func (b *Broadcaster) Count(namespace string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes[namespace]
}

// Closed returns a channel that Close closes.
func (b *Broadcaster) Closed() <-chan struct{} { return b.closed }

// Close ends all live pages.
func (b *Broadcaster) Close() { b.closeOnce.Do(func() { close(b.closed) }) }

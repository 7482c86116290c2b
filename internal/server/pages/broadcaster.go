package pages

import "sync"

// broadcaster wakes the live pages of a namespace.
type broadcaster struct {
	mu          sync.Mutex
	byNamespace map[string]map[chan struct{}]bool
	changes     map[string]uint64 // how many a namespace had
	closed      chan struct{}
	closeOnce   sync.Once
}

func newBroadcaster() *broadcaster {
	return &broadcaster{byNamespace: map[string]map[chan struct{}]bool{}, changes: map[string]uint64{}, closed: make(chan struct{})}
}

// subscribe returns a channel that has a value after one or more changes.
func (b *broadcaster) subscribe(namespace string) (changed <-chan struct{}, unsubscribe func()) {
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

// publish never blocks: a subscriber that has not read the last change sees this one with it.
func (b *broadcaster) publish(namespace string) {
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

// count is how many changes a namespace had.
func (b *broadcaster) count(namespace string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes[namespace]
}

func (b *broadcaster) close() { b.closeOnce.Do(func() { close(b.closed) }) }

package endpoint

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// hub wakes the requests that wait for news of a run. All that wait for one run share a channel,
// which is closed when there is news: it costs one map entry and no goroutine, however many wait.
type hub struct {
	mu     sync.Mutex
	topics map[types.NamespacedName]*topic
	closed bool
}

type topic struct {
	news    chan struct{} // closed at the next news
	waiters int
}

func newHub() *hub { return &hub{topics: map[types.NamespacedName]*topic{}} }

// join returns a channel that is closed by the first news after the call, and what to call when it
// is not needed any more. Who joins, then reads, and then waits misses nothing.
func (h *hub) join(run types.NamespacedName) (news <-chan struct{}, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[run]
	if t == nil {
		t = &topic{news: make(chan struct{})}
		if h.closed {
			close(t.news)
			return t.news, func() {}
		}
		h.topics[run] = t
	}
	t.waiters++
	return t.news, func() { h.leave(run, t) }
}

func (h *hub) leave(run types.NamespacedName, t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.waiters--
	if t.waiters == 0 && h.topics[run] == t { // else there was news, and the topic is another
		delete(h.topics, run)
	}
}

// announce tells all who wait for the run that there is news.
func (h *hub) announce(run types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[run]; t != nil {
		close(t.news)
		delete(h.topics, run)
	}
}

// close wakes everyone, now and for ever.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for run, t := range h.topics {
		close(t.news)
		delete(h.topics, run)
	}
}

func (h *hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

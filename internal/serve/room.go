package serve

import (
	"sync"
	"time"
)

// room knows all connections of a listener.
type room struct {
	bounds Bounds

	mu       sync.Mutex
	total    int
	unproven crowd // by address
	idle     crowd // by tenant
}

func newRoom(b Bounds) *room { return &room{bounds: b, unproven: newCrowd(), idle: newCrowd()} }

// admit is false where there is no room, and nobody who can make some.
func (r *room) admit(c *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unproven.count >= r.bounds.Unproven && !r.evict(&r.unproven, mayClose) {
		return false
	}
	if r.bounds.Total > 0 && r.total >= r.bounds.Total && !r.evict(&r.unproven, mayClose) && !r.evict(&r.idle, nil) {
		return false
	}
	r.total++
	c.known = true
	r.unproven.add(c, addressGroup(c.RemoteAddr()))
	return true
}

// mayClose spares connections whose request is being answered, and those that may yet be about to send it.
// The server reads ahead while it answers.
func mayClose(c *conn) bool {
	return time.Since(c.accepted) >= patience && (c.answered.Load() || c.reading.Load() && !c.asked.Load())
}

// evict closes a connection of the largest group in which one may be closed.
func (r *room) evict(from *crowd, may func(*conn) bool) bool {
	c := from.victim(may)
	if c == nil {
		return false
	}
	r.forget(c)
	_ = c.Conn.Close() // not c.Close, which takes the lock
	return true
}

// proven is for a connection whose request was authenticated, and which is busy with it now.
func (r *room) proven(c *conn, tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.leave()
	c.tenant = tenant
}

// busy is for one that has sent a request.
func (r *room) busy(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.tenant != "" {
		c.leave()
	}
}

// rest is for one that has been answered and may send another request.
func (r *room) rest(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.tenant == "" || !c.known {
		return
	}
	r.idle.add(c, c.tenant)
	if r.idle.count > r.bounds.Idle {
		r.evict(&r.idle, nil)
	}
}

func (r *room) leave(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(c)
}

// forget needs the lock.
func (r *room) forget(c *conn) {
	if c.known {
		r.total--
	}
	c.known = false
	c.leave()
}

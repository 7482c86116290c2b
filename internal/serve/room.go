package serve

import (
	"cmp"
	"sync"
	"time"
)

// room knows all connections of a listener.
type room struct {
	bounds Bounds

	mu       sync.Mutex
	total    int
	silent   crowd // by address
	unproven crowd // by address
	idle     crowd // by tenant
	large    crowd // by tenant, or by address where there is none
}

func newRoom(b Bounds) *room {
	b.Silent = cmp.Or(b.Silent, b.Unproven)
	return &room{bounds: b, silent: newCrowd(), unproven: newCrowd(), idle: newCrowd(), large: newCrowd()}
}

// admit is false where there is no room, and nobody who can make some.
func (r *room) admit(c *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.silent.count >= r.bounds.Silent && !r.evict(&r.silent, isSlow) {
		return false
	}
	if r.bounds.Total > 0 && r.total >= r.bounds.Total &&
		!r.evict(&r.silent, isSlow) && !r.evict(&r.unproven, mayClose) && !r.evict(&r.idle, nil) {
		return false
	}
	r.total++
	c.known = true
	r.silent.add(c, addressGroup(c.RemoteAddr()))
	return true
}

// listenTo is for a connection that is not silent any more. It is false where there is no room yet.
func (r *room) listenTo(c *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unproven.count >= r.bounds.Unproven && !r.evict(&r.unproven, mayClose) {
		return false
	}
	r.unproven.add(c, addressGroup(c.RemoteAddr()))
	return true
}

// isSlow spares connections whose client may be about to send.
func isSlow(c *conn) bool { return time.Since(c.accepted) >= patience && c.spoke.Load() == 0 }

// mayClose spares connections whose request is being answered, and those that may yet be about to send the
// rest of it. The server reads ahead while it answers.
func mayClose(c *conn) bool {
	return time.Since(time.Unix(0, c.spoke.Load())) >= patience && (c.answered.Load() || c.reading.Load() && !c.asked.Load())
}

// closeSilent closes all connections that the server does not know.
func (r *room) closeSilent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.evict(&r.silent, nil) {
	}
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

// enlarge is for a connection whose head has become large. It waits for room, and is false where the
// connection was closed meanwhile.
func (r *room) enlarge(c *conn) bool {
	for {
		entered, open := r.tryEnlarge(c)
		if entered || !open {
			return open
		}
		time.Sleep(retryRoom)
	}
}

func (r *room) tryEnlarge(c *conn) (entered, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !c.known:
		return false, false
	case c.large || r.bounds.LargeHeads == 0:
		return true, true
	case r.large.count >= r.bounds.LargeHeads && !r.evict(&r.large, mayClose):
		return false, true
	}
	c.large = true
	r.large.add(c, cmp.Or(c.tenant, addressGroup(c.RemoteAddr())))
	return true, true
}

// proven is for a connection whose request was authenticated, and which is busy with it now.
func (r *room) proven(c *conn, tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.leave()
	c.large, c.tenant = false, tenant
}

// busy is for one that has sent a request.
func (r *room) busy(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.tenant != "" {
		c.leave()
		c.large = false
	}
}

// rest is for one that has been answered and may send another request.
func (r *room) rest(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !c.known, c.tenant == "" && !c.large:
		return
	case c.tenant == "":
		c.large = false
		r.unproven.add(c, addressGroup(c.RemoteAddr()))
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

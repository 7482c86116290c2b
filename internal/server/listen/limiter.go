package listen

import (
	"cmp"
	"sync"
	"time"
)

type connLimiter struct {
	bounds Bounds

	mu       sync.Mutex
	total    int
	silent   connSet // by address
	unproven connSet // by address
	idle     connSet // by tenant
	large    connSet // by tenant, or by address if that is unknown
}

func newConnLimiter(b Bounds) *connLimiter {
	b.Silent = cmp.Or(b.Silent, b.Unproven)
	return &connLimiter{bounds: b, silent: newConnSet(), unproven: newConnSet(), idle: newConnSet(), large: newConnSet()}
}

// admit returns false if there is no room, and no connection may be closed for the new one.
func (l *connLimiter) admit(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent.count >= l.bounds.Silent && !l.evict(&l.silent, isSlow) {
		return false
	}
	if l.bounds.Total > 0 && l.total >= l.bounds.Total &&
		!l.evict(&l.silent, isSlow) && !l.evict(&l.unproven, mayClose) && !l.evict(&l.idle, nil) {
		return false
	}
	l.total++
	c.open = true
	l.silent.add(c, addressGroup(c.RemoteAddr()))
	return true
}

// promote makes a silent connection unproven. It returns false if there is no room yet.
func (l *connLimiter) promote(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unproven.count >= l.bounds.Unproven && !l.evict(&l.unproven, mayClose) {
		return false
	}
	l.unproven.add(c, addressGroup(c.RemoteAddr()))
	return true
}

func isSlow(c *conn) bool { return time.Since(c.accepted) >= gracePeriod && c.firstByte.Load() == 0 }

// mayClose spares connections whose request is being answered, or whose next bytes may be about to come: the server reads ahead.
func mayClose(c *conn) bool {
	switch {
	case time.Since(time.Unix(0, c.firstByte.Load())) < gracePeriod:
		return false
	case c.released.Load() != 0:
		return time.Since(time.Unix(0, c.released.Load())) >= gracePeriod
	default:
		return c.reading.Load() && (!c.requestRead.Load() || c.readingBody.Load())
	}
}

func (l *connLimiter) closeSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.evict(&l.silent, nil) {
	}
}

func (l *connLimiter) evict(from *connSet, may func(*conn) bool) bool {
	c := from.oldestOfLargest(may)
	if c == nil {
		return false
	}
	l.forget(c)
	_ = c.raw.Close() // not c.Close, which takes the lock, and with TLS would wait for the client
	return true
}

// admitLarge waits for room for a connection with a large head. It returns false if the connection was closed meanwhile.
func (l *connLimiter) admitLarge(c *conn) bool {
	for {
		entered, open := l.tryAdmitLarge(c)
		if entered || !open {
			return open
		}
		time.Sleep(retryInterval)
	}
}

func (l *connLimiter) tryAdmitLarge(c *conn) (entered, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !c.open:
		return false, false
	case c.large || l.bounds.LargeHeads == 0:
		return true, true
	case l.large.count >= l.bounds.LargeHeads && !l.evict(&l.large, mayClose):
		return false, true
	}
	c.large = true
	l.large.add(c, cmp.Or(c.tenant, addressGroup(c.RemoteAddr())))
	return true, true
}

// authenticated exempts a connection from the bounds while it is busy.
func (l *connLimiter) authenticated(c *conn, tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.leave()
	c.large, c.tenant = false, tenant
}

func (l *connLimiter) requestStarted(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.tenant != "" {
		c.leave()
		c.large = false
	}
}

func (l *connLimiter) requestEnded(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !c.open, c.tenant == "" && !c.large:
		return
	case c.tenant == "":
		c.large = false
		l.unproven.add(c, addressGroup(c.RemoteAddr()))
		return
	}
	l.idle.add(c, c.tenant)
	if l.idle.count > l.bounds.Idle {
		l.evict(&l.idle, nil)
	}
}

func (l *connLimiter) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(c)
}

// forget requires the lock.
func (l *connLimiter) forget(c *conn) {
	if c.open {
		l.total--
	}
	c.open = false
	c.leave()
}

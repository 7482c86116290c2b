package serve

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"time"
)

// defaultSilence is how long a connection may be silent where the server does not say.
const defaultSilence = 10 * time.Second

// firstRead holds most requests, in bytes.
const firstRead = 2 << 10

// listener accepts connections on which something was sent, and for which there is room.
type listener struct {
	net.Listener
	room    *room
	silence time.Duration // that is allowed
	ready   chan accepted
	closed  chan struct{}
	start   sync.Once
	stop    sync.Once
}

type accepted struct {
	net.Conn
	err error
}

func newListener(inner net.Listener, r *room, silence time.Duration) *listener {
	return &listener{Listener: inner, room: r, silence: cmp.Or(silence, defaultSilence),
		ready: make(chan accepted), closed: make(chan struct{})}
}

// Accept returns the next connection that is not silent.
func (l *listener) Accept() (net.Conn, error) {
	l.start.Do(func() { go l.run() })
	select {
	case a := <-l.ready:
		return a.Conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close also closes the connections that are silent.
func (l *listener) Close() error {
	l.stop.Do(func() {
		close(l.closed)
		l.room.closeSilent()
	})
	return l.Listener.Close()
}

func (l *listener) run() {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			if !l.hand(accepted{err: err}) {
				return
			}
			continue // the server pauses where that may pass, and closes the listener where not
		}
		c := newConn(inner, l.room)
		if !l.await(func() bool { return l.room.admit(c) }) {
			_ = inner.Close()
			return
		}
		go l.listen(c)
	}
}

// listen waits until the client sends something, and takes what comes with it: most requests whole. So the
// server need not wait for the client, whose connection may be closed for others while it does.
func (l *listener) listen(c *conn) {
	_ = c.SetReadDeadline(time.Now().Add(l.silence))
	first := make([]byte, 1)
	if _, err := c.Conn.Read(first); err != nil {
		_ = c.Close()
		return
	}
	c.spoke.Store(time.Now().UnixNano())
	_ = c.SetReadDeadline(time.Now().Add(patience))
	rest := make([]byte, firstRead)
	n, _ := c.Conn.Read(rest) // the server meets the error, if it lasts
	c.sent = slices.Concat(first, rest[:n])
	_ = c.SetReadDeadline(time.Time{})
	if !l.await(func() bool { return l.room.listenTo(c) }) || !l.hand(accepted{Conn: c}) {
		_ = c.Close()
	}
}

// await is false where the listener was closed meanwhile.
func (l *listener) await(room func() bool) bool {
	for !room() {
		select {
		case <-l.closed:
			return false
		case <-time.After(retryRoom):
		}
	}
	return true
}

func (l *listener) hand(a accepted) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.closed:
		return false
	}
}

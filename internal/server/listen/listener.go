package listen

import (
	"cmp"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"
)

// defaultSilence is how long a connection may be silent without a ReadHeaderTimeout.
const defaultSilence = 10 * time.Second

// firstRead is enough for most requests, in bytes.
const firstRead = 2 << 10

// listener accepts connections on which something was sent, within the bounds.
type listener struct {
	net.Listener
	limiter *connLimiter
	silence time.Duration // how long a connection may be silent, or a TLS handshake may take
	tls     *tls.Config   // nil: without TLS
	ready   chan accepted
	closed  chan struct{}
	start   sync.Once
	stop    sync.Once
}

type accepted struct {
	net.Conn
	err error
}

func newListener(inner net.Listener, limiter *connLimiter, silence time.Duration, config *tls.Config) *listener {
	return &listener{Listener: inner, limiter: limiter, silence: cmp.Or(silence, defaultSilence), tls: http1Only(config),
		ready: make(chan accepted), closed: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	l.start.Do(func() { go l.run() })
	select {
	case a := <-l.ready:
		return a.Conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.stop.Do(func() {
		close(l.closed)
		l.limiter.closeSilent()
	})
	return l.Listener.Close()
}

func (l *listener) run() {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			if !l.deliver(accepted{err: err}) {
				return
			}
			continue // the server pauses after a temporary error, and closes the listener after others
		}
		c := newConn(inner, l.limiter)
		c.secure(l.tls)
		if !l.await(func() bool { return l.limiter.admit(c) }) {
			_ = inner.Close()
			return
		}
		go l.readFirst(c)
	}
}

// readFirst reads what comes with the first byte, usually the whole request, so that few connections wait in the server.
func (l *listener) readFirst(c *conn) {
	_ = c.SetReadDeadline(time.Now().Add(l.silence))
	first := make([]byte, 1)
	if _, err := c.raw.Read(first); err != nil {
		_ = c.Close()
		return
	}
	c.firstByte.Store(time.Now().UnixNano())
	_ = c.SetReadDeadline(time.Now().Add(gracePeriod))
	rest := make([]byte, firstRead)
	n, _ := c.raw.Read(rest) // the server meets the error, if it lasts
	c.buffered = slices.Concat(first, rest[:n])
	_ = c.SetReadDeadline(time.Time{})
	if !l.await(func() bool { return l.limiter.promote(c) }) || c.handshake(l.silence) != nil || !l.deliver(accepted{Conn: c}) {
		_ = c.Close()
	}
}

// await returns false if the listener was closed meanwhile.
func (l *listener) await(condition func() bool) bool {
	for !condition() {
		select {
		case <-l.closed:
			return false
		case <-time.After(retryInterval):
		}
	}
	return true
}

func (l *listener) deliver(a accepted) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.closed:
		return false
	}
}

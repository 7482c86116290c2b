package listen

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

type conn struct {
	net.Conn    // raw, or TLS over it
	raw         net.Conn
	tls         *tls.Conn // nil without TLS
	limiter     *connLimiter
	accepted    time.Time
	buffered    []byte       // what the client sent first, until the server reads it
	firstByte   atomic.Int64 // when the client sent it, in nanoseconds since 1970; 0 while it is silent
	reading     atomic.Bool  // a Read waits for the client
	requestRead atomic.Bool  // the request is being answered
	readingBody atomic.Bool  // of a request that may have no accepted key
	released    atomic.Int64 // when the request needed it no more, in nanoseconds since 1970; 0 while it is being answered
	head        head         // of the request that is being read

	// Of the handler of a request.
	bodyLimited bool      // to less than readUntil
	readUntil   time.Time // zero: for any time

	// The limiter's lock guards these.
	open   bool
	large  bool   // its head counts as large
	tenant string // empty while unproven
	seq    uint64 // its position in its connSet
	leave  func() // removes it from its connSet
}

func newConn(c net.Conn, l *connLimiter) *conn {
	return &conn{Conn: c, raw: c, limiter: l, accepted: time.Now(), head: head{max: l.bounds.HeaderLines, atStart: true}, leave: func() {}}
}

func (c *conn) setState(state http.ConnState) {
	switch state {
	case http.StateActive:
		c.released.Store(0)
		c.requestRead.Store(true)
		c.limiter.requestStarted(c)
	case http.StateIdle:
		c.head = head{max: c.head.max, atStart: true}
		c.requestRead.Store(false)
		c.released.Store(0)
		c.limiter.requestEnded(c)
	}
}

func (c *conn) Read(p []byte) (n int, err error) {
	if c.tls == nil && len(c.buffered) > 0 {
		n = copy(p, c.buffered)
		if c.buffered = c.buffered[n:]; len(c.buffered) == 0 {
			c.buffered = nil
		}
	} else {
		c.reading.Store(true)
		n, err = c.Conn.Read(p)
		c.reading.Store(false)
	}
	if headErr := c.head.read(p[:n]); headErr != nil {
		return 0, headErr // which the server answers with 400
	}
	if c.head.isLarge() && !c.limiter.admitLarge(c) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Close() error {
	c.limiter.leave(c)
	return c.Conn.Close()
}

// CloseWrite is called if the client sends too much, half a second before the server closes. Meanwhile, others may replace it.
func (c *conn) CloseWrite() error {
	c.released.Store(time.Now().UnixNano())
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

var errTooManyHeaders = errors.New("too many header fields")

// head counts the lines of the head of an HTTP/1 request, up to the empty one that ends it.
type head struct {
	max, lines int
	bytes      int
	atStart    bool // of a line
	ended      bool
}

func (h *head) read(p []byte) error {
	if h.ended {
		return nil
	}
	h.bytes += len(p)
	for _, b := range p {
		switch {
		case h.ended:
		case b == '\n' && h.atStart:
			h.ended = true
		case b == '\n':
			h.lines++
			h.atStart = true
		case b != '\r':
			h.atStart = false
		}
	}
	if h.max > 0 && h.lines > h.max {
		return errTooManyHeaders
	}
	return nil
}

func (h *head) isLarge() bool { return !h.ended && h.bytes > largeHead }

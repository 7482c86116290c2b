package serve

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection that a room knows.
type conn struct {
	net.Conn
	room     *room
	accepted time.Time
	sent     []byte       // what the client sent first, until the server reads it
	spoke    atomic.Int64 // when it sent that, in nanoseconds since 1970; 0 while it is silent
	reading  atomic.Bool  // waits for the client to send
	asked    atomic.Bool  // a request was read, and is being answered
	answered atomic.Bool  // for the last time
	head     head         // of the request that is being read

	// The room guards these.
	known  bool
	large  bool   // in the crowd of large heads
	tenant string // empty while unproven
	joined uint64 // its turn in the crowd it is in
	leave  func() // leaves that crowd
}

func newConn(c net.Conn, r *room) *conn {
	return &conn{Conn: c, room: r, accepted: time.Now(), head: head{max: r.bounds.HeaderLines, atStart: true}, leave: func() {}}
}

// enter follows the server: a request was read, or the next one may come.
func (c *conn) enter(state http.ConnState) {
	switch state {
	case http.StateActive:
		c.asked.Store(true)
		c.room.busy(c)
	case http.StateIdle:
		c.head = head{max: c.head.max, atStart: true}
		c.asked.Store(false)
		c.room.rest(c)
	}
}

func (c *conn) Read(p []byte) (n int, err error) {
	if len(c.sent) > 0 {
		n = copy(p, c.sent)
		if c.sent = c.sent[n:]; len(c.sent) == 0 {
			c.sent = nil
		}
	} else {
		c.reading.Store(true)
		n, err = c.Conn.Read(p)
		c.reading.Store(false)
	}
	if headErr := c.head.read(p[:n]); headErr != nil {
		return 0, headErr // which the server answers with 400
	}
	if c.head.isLarge() && !c.room.enlarge(c) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Close() error {
	c.room.leave(c)
	return c.Conn.Close()
}

// CloseWrite is called where the client has more to send than the server wants: the server then leaves it
// half a second to read the answer. That is no reason to keep others out.
func (c *conn) CloseWrite() error {
	c.answered.Store(true)
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// errTooManyHeaders ends the connection.
var errTooManyHeaders = errors.New("too many header fields")

// head counts the lines of the head of an HTTP/1 request, up to the empty one that ends it.
type head struct {
	max, lines int
	bytes      int
	atStart    bool // of a line
	over       bool
}

func (h *head) read(p []byte) error {
	if h.over {
		return nil
	}
	h.bytes += len(p)
	for _, b := range p {
		switch {
		case h.over:
		case b == '\n' && h.atStart:
			h.over = true
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

func (h *head) isLarge() bool { return !h.over && h.bytes > largeHead }

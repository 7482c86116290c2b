package listen

import (
	"io"
	"net/http"
	"time"
)

// unprovenBody is how long a body may take without an accepted key: such bodies are small, and mostly come with the head.
const unprovenBody = time.Second

// limitUnproven limits the time for an unauthenticated body, and lets the connection be replaced once the handler has returned: the server
// may wait for the rest of the body before it sends the answer.
func limitUnproven(server *http.Server) http.Handler {
	next := server.Handler
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if r.ContentLength != 0 { // there is a body
			c.limitBody(server.ReadTimeout)
			r = r.WithContext(r.Context()) // the server looks at the body of the original
			r.Body = &limitedBody{ReadCloser: r.Body, conn: c}
		}
		defer func() { c.released.Store(time.Now().UnixNano()) }()
		next.ServeHTTP(w, r)
	})
}

// limitBody lasts until the key is accepted or the body read: the server would then mistake the deadline for a client that is gone.
func (c *conn) limitBody(rest time.Duration) {
	c.readUntil = time.Time{}
	if rest > 0 {
		c.readUntil = time.Now().Add(rest)
	}
	_ = c.SetReadDeadline(time.Now().Add(unprovenBody)) // of a closed connection
	c.bodyLimited = true
}

func (c *conn) unlimitBody() {
	if c.bodyLimited {
		_ = c.SetReadDeadline(c.readUntil)
		c.bodyLimited = false
	}
}

type limitedBody struct {
	io.ReadCloser
	conn *conn
}

func (b *limitedBody) Read(p []byte) (int, error) {
	b.conn.readingBody.Store(true)
	n, err := b.ReadCloser.Read(p)
	b.conn.readingBody.Store(false)
	if err == io.EOF {
		b.conn.unlimitBody()
	}
	return n, err
}

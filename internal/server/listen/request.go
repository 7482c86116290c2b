package listen

import (
	"io"
	"net/http"
	"time"
)

// unprovenBody is how long the body of a request without an accepted key may take. Such bodies are small forms and messages,
// which mostly come with the head.
const unprovenBody = time.Second

// limitUnproven lets a connection be closed for others once the handler of its request has returned, unless that request was
// authenticated: the server may wait for the rest of the body before it sends the answer. It also limits how long the body may take.
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

// limitBody is called when a request was read, and unlimitBody once its key was accepted or its whole body read. After that,
// the server watches whether the client is gone, and would mistake the limit for that. The handler's goroutine calls both.
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

// limitedBody is the body of a request that may have no accepted key.
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

package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// TLS is beneath a conn, so that net/http and the bounds see the requests. That also keeps HTTP/2 out: net/http
// speaks it only on connections that are TLS themselves.

// http1Only is a copy of the configuration, nil if there is none, that offers no protocol but HTTP/1.1.
func http1Only(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return config
}

// secure puts TLS over a connection, if there is a configuration. What the client sent first comes before the rest.
func (c *conn) secure(config *tls.Config) {
	if config != nil {
		c.tls = tls.Server(&replayed{Conn: c.raw, first: &c.buffered}, config)
		c.Conn = c.tls
	}
}

// replayed is a connection that first returns what was read from it already.
type replayed struct {
	net.Conn
	first *[]byte
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(*r.first) == 0 {
		return r.Conn.Read(p)
	}
	n := copy(p, *r.first)
	*r.first = (*r.first)[n:]
	return n, nil
}

// handshake fails if the client has not finished it in time. While it lasts, the connection may be closed for others.
func (c *conn) handshake(limit time.Duration) error {
	if c.tls == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c.reading.Store(true)
	defer c.reading.Store(false)
	err := c.tls.HandshakeContext(ctx)
	var header tls.RecordHeaderError
	if errors.As(err, &header) && header.Conn != nil {
		_ = c.raw.SetWriteDeadline(time.Now().Add(gracePeriod))
		_, _ = io.WriteString(c.raw, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nThis port speaks HTTPS only.\n")
	}
	return err
}

// withTLSState tells a handler about the TLS of its connection.
func withTLSState(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && c.tls != nil {
			state := c.tls.ConnectionState()
			r.TLS = &state
		}
		next.ServeHTTP(w, r)
	})
}

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

// http1Only copies the configuration for HTTP/1.1 only. TLS is beneath conn, so that net/http does not choose HTTP/2 itself.
func http1Only(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return config
}

func (c *conn) secure(config *tls.Config) {
	if config != nil {
		c.tls = tls.Server(&replayed{Conn: c.raw, first: &c.buffered}, config)
		c.Conn = c.tls
	}
}

// replayed is a connection that first returns what was already read from it.
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

// handshake lets the connection be closed for others while it lasts.
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

func withTLSState(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && c.tls != nil {
			state := c.tls.ConnectionState()
			r.TLS = &state
		}
		next.ServeHTTP(w, r)
	})
}

package listen

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Bounds limit the connections of a server. A connection is silent until its client has sent something,
// then unproven until a request on it was authenticated, then busy while that is answered, then idle until
// the next request. The server accepts it once it is no longer silent, so that thousands of connections from
// slow clients cost little.
//
// If a bound is reached, a new connection replaces the oldest inactive one of the largest group. Silent and unproven
// connections are grouped by address, idle ones by tenant. So a group may use all that others do not need, and
// cannot lock them out.
type Bounds struct {
	// Unproven bounds the connections on which nothing was authenticated, and is more than 0; Idle bounds
	// those between two authenticated requests. How many are busy is up to the handler.
	Unproven, Idle int

	// Silent bounds the connections on which nothing was sent; 0 means the same as Unproven.
	Silent int

	// LargeHeads bounds the unproven and idle connections that have sent more than 4 KiB of a head that has
	// not ended; 0 for any number. They cost several times as much as the others.
	LargeHeads int

	// Total bounds all connections, 0 for any number. New ones wait while all are busy.
	Total int

	// HeaderLines bounds the lines of a request's head, 0 for any number: each takes far more memory than
	// its length.
	HeaderLines int
}

const (
	// gracePeriod protects a new connection from being closed for others: the request follows the handshake at once, but
	// the server may be too busy to read it.
	gracePeriod = 100 * time.Millisecond

	// retryInterval is how often to try again if there is no room.
	retryInterval = 2 * time.Millisecond

	// largeHead is more than the server reads at once, in bytes.
	largeHead = 4 << 10
)

// Bound listens on the server's address, and makes the server and the listener keep the bounds. With the TLSConfig of
// the server it speaks HTTPS, on top of which there is only HTTP/1.1, as without.
func Bound(server *http.Server, bounds Bounds) (net.Listener, error) {
	inner, err := net.Listen("tcp", server.Addr)
	if err != nil {
		return nil, err
	}
	return bind(server, inner, bounds), nil
}

func bind(server *http.Server, inner net.Listener, bounds Bounds) net.Listener {
	secure := server.TLSConfig != nil
	switch {
	case bounds == (Bounds{}) && secure:
		return tls.NewListener(inner, http1Only(server.TLSConfig))
	case bounds == (Bounds{}):
		return inner
	case secure:
		server.Handler = withTLSState(server.Handler)
	}
	server.Handler = limitUnproven(server)
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*conn); ok {
			c.setState(state)
		}
	}
	return newListener(inner, newConnLimiter(bounds), server.ReadHeaderTimeout, server.TLSConfig)
}

// Authenticated assigns the connection of a request to the tenant, before its body is read. Other contexts are ignored.
func Authenticated(ctx context.Context, tenant string) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.limiter.authenticated(c, tenant)
		c.unlimitBody()
	}
}

type connKey struct{}

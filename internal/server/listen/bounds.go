package listen

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Bounds limit the connections of a server. Each is silent until its client sends something, unproven until a request is authenticated,
// busy while that is answered, and then idle. At a bound, a new connection replaces the oldest inactive one of the largest group (by
// address until it is authenticated, then by tenant), so that a group may use what others do not need, and cannot lock them out.
type Bounds struct {
	// Unproven (more than 0) bounds connections without an authenticated request, Idle those between two. The handler bounds busy ones.
	Unproven, Idle int
	// Silent bounds the connections on which nothing was sent; 0 means the same as Unproven.
	Silent int
	// LargeHeads bounds unproven and idle connections with more than 4 KiB of an unfinished head, which cost several times more; 0: no limit.
	LargeHeads int
	// Total bounds all connections; 0: no limit. New ones wait while all are busy.
	Total int
	// HeaderLines bounds the lines of a request's head, which take far more memory than their length; 0: no limit.
	HeaderLines int
}

const (
	// gracePeriod protects a new connection: its request follows at once, but the server may be too busy to read it.
	gracePeriod   = 100 * time.Millisecond
	retryInterval = 2 * time.Millisecond // how often to try again if there is no room
	largeHead     = 4 << 10              // more than the server reads at once, in bytes
)

// Bound listens on the server's address, and replaces the server's Handler, ConnContext and ConnState to keep the bounds. With the server's
// TLSConfig it speaks HTTPS; with or without, only HTTP/1.1.
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

// Authenticated assigns the connection of a request to the tenant. Call it in the handler's goroutine, before the body is read.
func Authenticated(ctx context.Context, tenant string) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.limiter.authenticated(c, tenant)
		c.unlimitBody()
	}
}

type connKey struct{}

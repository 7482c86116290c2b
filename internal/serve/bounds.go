package serve

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Bounds limit the connections of a server. A connection is silent until its client has sent something,
// then unproven until a request on it was authenticated, then busy while that is answered, then idle until
// the next request. The server sees it once it is no longer silent, so that thousands that come together,
// of clients that are slow to send, cost little.
//
// Where there is no room, a newcomer takes the place of a connection that does nothing: of the group that
// has the most, the oldest. The group of a silent or an unproven connection is its address, and of an idle one
// the tenant. So one group may take all that nobody else wants, and another always finds room.
type Bounds struct {
	// Unproven bounds the connections on which nothing was authenticated, and is more than 0; Idle bounds
	// those between two authenticated requests. How many are busy is up to the handler.
	Unproven, Idle int

	// Silent bounds the connections on which nothing was sent; as many as Unproven where it is 0.
	Silent int

	// LargeHeads bounds those of both whose request has begun with more than 4 KiB, and whose head has not
	// ended; 0 for any number. They cost several times as much as the others.
	LargeHeads int

	// Total bounds all of them, 0 for any number. Newcomers wait where all are busy.
	Total int

	// HeaderLines bounds the lines of a request's head, 0 for any number: each costs far more memory than
	// it has bytes.
	HeaderLines int
}

const (
	// patience is how long a new connection may take to send its request before it has to make room for
	// others: the request follows the handshake at once, but the server may be too busy to read it.
	patience = 100 * time.Millisecond

	// retryRoom is how often one that finds no room looks again.
	retryRoom = 2 * time.Millisecond

	// largeHead is more than what the server reads at once, in bytes.
	largeHead = 4 << 10
)

// Bound opens the server's address, and has the server and the listener keep the bounds.
func Bound(server *http.Server, bounds Bounds) (net.Listener, error) {
	inner, err := net.Listen("tcp", server.Addr)
	if err != nil {
		return nil, err
	}
	if bounds == (Bounds{}) {
		return inner, nil
	}
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*conn); ok {
			c.enter(state)
		}
	}
	return newListener(inner, newRoom(bounds), server.ReadHeaderTimeout), nil
}

// Authenticated makes the connection of a request the tenant's. It may be called for any context.
func Authenticated(ctx context.Context, tenant string) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.room.proven(c, tenant)
	}
}

type connKey struct{}

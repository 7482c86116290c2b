// Package listen runs an http.Handler in every replica. GracefulShutdownTimeout has to exceed DrainDelay plus DrainTimeout.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Options configure how a Server starts and stops.
type Options struct {
	// DrainDelay is how long a stopping server still accepts requests, so that load balancers notice its failed readiness.
	DrainDelay time.Duration
	// DrainTimeout is how long requests in flight may then take.
	DrainTimeout time.Duration
	// Bounds limit the connections; the zero value does not.
	Bounds Bounds
	// Await reports whether the handler can answer; nil: always. Connections wait until then.
	Await func() bool
}

// Server is an http.Server that listens before it serves and drains before it stops.
type Server struct {
	server   *http.Server
	listener net.Listener
	options  Options
	state    atomic.Int32
}

const awaitInterval = 10 * time.Millisecond

const (
	starting int32 = iota
	serving
	draining
)

// Listen opens the address, so that a wrong one fails at once. Connections wait until Start, when the manager's caches are filled.
func Listen(server *http.Server, options Options) (*Server, error) {
	listener, err := Bound(server, options.Bounds)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP requests: %w", err)
	}
	s := &Server{server: server, listener: listener, options: options}
	server.Handler = s.releaseClients(server.Handler)
	return s, nil
}

// releaseClients closes connections of a stopping server: load balancers choose another one only for new connections.
func (s *Server) releaseClients(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.state.Load() == draining {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// Addr returns the address of the server.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// NeedLeaderElection is false: every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready is a check for /readyz: it fails before the server serves, and once it stops.
func (s *Server) Ready(*http.Request) error {
	switch s.state.Load() {
	case starting:
		return errors.New("the HTTP server does not serve yet")
	case draining:
		return errors.New("the HTTP server is draining")
	default:
		return nil
	}
}

// Start serves until ctx is done, and returns when the last request was answered or cut off.
func (s *Server) Start(ctx context.Context) error {
	if err := s.await(ctx); err != nil {
		return s.listener.Close()
	}
	failed := make(chan error, 1)
	go func() { failed <- s.server.Serve(s.listener) }()
	s.state.Store(serving)
	log.FromContext(ctx).Info("serving HTTP", "address", s.Addr().String())
	select {
	case err := <-failed:
		s.state.Store(draining)
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
		return s.drain()
	}
}

func (s *Server) await(ctx context.Context) error {
	if s.options.Await == nil {
		return nil
	}
	return wait.PollUntilContextCancel(ctx, awaitInterval, true, func(context.Context) (bool, error) { return s.options.Await(), nil })
}

// drain cannot use the context of Start, which is done.
func (s *Server) drain() error {
	s.state.Store(draining)
	time.Sleep(s.options.DrainDelay)
	ctx, cancel := context.WithTimeout(context.Background(), s.options.DrainTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), s.server.Close())
	}
	return nil
}

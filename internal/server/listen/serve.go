// Package listen runs an http.Handler as a Runnable of the manager, in every replica.
//
// The manager's GracefulShutdownTimeout has to exceed Options.DrainDelay + Options.DrainTimeout.
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
	// DrainDelay is how long a stopping server still accepts requests after its readiness failed, so that
	// load balancers notice and send them elsewhere.
	DrainDelay time.Duration

	// DrainTimeout is how long requests in flight may then take before they are cut off.
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

// awaitInterval is how often Await is called.
const awaitInterval = 10 * time.Millisecond

const (
	starting int32 = iota
	serving
	draining
)

// Listen opens the server's address, so that a wrong one fails at once. Connections wait until Start, which the manager
// calls when its caches are filled.
func Listen(server *http.Server, options Options) (*Server, error) {
	listener, err := Bound(server, options.Bounds)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP requests: %w", err)
	}
	s := &Server{server: server, listener: listener, options: options}
	server.Handler = s.releaseClients(server.Handler)
	return s, nil
}

// releaseClients closes each connection after its next answer once the server stops. Load balancers only choose a server
// for new connections, so a client with an open one would send its next request to a server that is gone.
func (s *Server) releaseClients(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.state.Load() == draining {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// Addr is the address of the server.
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

// Start serves until ctx is done. It returns when the last request was answered or cut off.
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

// drain must not use the context of Start, which is done.
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

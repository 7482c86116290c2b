package session

import (
	"fmt"
	"io"
	"net"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// forward lets pods reach what listens on loopback: servers bind to 127.0.0.1 only, and this end
// listens on addresses of the bridge, which nobody but the pods can reach.
func (s *Session) forward() error {
	if !s.options.Node {
		return nil
	}
	routes := map[string]int{net.JoinHostPort(s.plan.KubernetesIP(), "443"): layout.PortAPIServer}
	for _, port := range []int{layout.PortAPIServer, layout.PortStore, layout.PortAPI} {
		routes[s.plan.OnBridge(port)] = port
	}
	for address, port := range routes {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("listening for pods: %w", err)
		}
		s.listeners = append(s.listeners, listener)
		go serve(listener, s.plan.Loopback(port))
	}
	return nil
}

func serve(listener net.Listener, target string) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return // closed
		}
		go pipe(from.(*net.TCPConn), target)
	}
}

func pipe(from *net.TCPConn, target string) {
	defer from.Close()
	connection, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	to := connection.(*net.TCPConn)
	defer to.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(from, to)
	_ = from.CloseWrite()
	<-done
}

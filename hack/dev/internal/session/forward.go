package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// servicePatience is how long a connection to the deployed manager may wait for a pod: right after a
// restart the API server still names those of before.
const servicePatience = 20 * time.Second

// forward lets pods reach what listens on loopback: servers bind to 127.0.0.1 only, and this end
// listens on addresses of the bridge, to which no other machine has a route.
func (s *Session) forward() error {
	if !s.options.Node {
		return nil
	}
	routes := map[string]int{net.JoinHostPort(s.plan.KubernetesIP(), "443"): layout.PortAPIServer}
	for _, port := range []int{layout.PortAPIServer, layout.PortStore, layout.PortAPI} {
		routes[s.plan.OnBridge(port)] = port
	}
	for address, port := range routes {
		target := s.plan.Loopback(port)
		listener, err := listen(address, 0, func() (string, error) { return target, nil })
		if err != nil {
			return fmt.Errorf("listening for pods: %w", err)
		}
		s.listeners = append(s.listeners, listener)
	}
	return nil
}

// forwardService makes the deployed manager reachable where the process would be. There is no
// kube-proxy, so this end picks one of the Service's ready pods for each connection.
func (s *Session) forwardService() error {
	for name, port := range map[string]int{"http": layout.PortAPI, "metrics": layout.PortMetrics} {
		listener, err := listen(s.plan.Loopback(port), servicePatience, func() (string, error) { return s.readyPod(name) })
		if err != nil {
			return fmt.Errorf("listening for the deployed manager: %w", err)
		}
		s.serviceListeners = append(s.serviceListeners, listener)
	}
	return nil
}

func (s *Session) stopForwardingService() {
	for _, listener := range s.serviceListeners {
		listener.Close()
	}
	s.serviceListeners = nil
}

// readyPod is the address of a port of any ready pod behind the manager's Service.
func (s *Session) readyPod(portName string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string
				Conditions struct{ Ready bool }
			}
			Ports []struct {
				Name string
				Port int
			}
		}
	}
	err := s.client.fetch(ctx, s.server()+"/apis/discovery.k8s.io/v1/namespaces/"+systemNamespace+
		"/endpointslices?labelSelector=kubernetes.io/service-name="+serviceName, &slices)
	if err != nil {
		return "", err
	}
	var addresses []string
	for _, slice := range slices.Items {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				if port.Name == portName && endpoint.Conditions.Ready {
					addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(port.Port)))
				}
			}
		}
	}
	if len(addresses) == 0 {
		return "", errors.New("no pod of the manager is ready")
	}
	return addresses[rand.IntN(len(addresses))], nil
}

// listen passes each connection on to what target names at that moment, and asks again until
// patience ends if nobody is there.
func listen(address string, patience time.Duration, target func() (string, error)) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go pipe(from.(*net.TCPConn), patience, target)
		}
	}()
	return listener, nil
}

func pipe(from *net.TCPConn, patience time.Duration, target func() (string, error)) {
	defer closeQuietly(from)
	connection, err := dial(patience, target)
	if err != nil {
		return
	}
	to := connection.(*net.TCPConn)
	defer closeQuietly(to)
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

func dial(patience time.Duration, target func() (string, error)) (net.Conn, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		address, err := target()
		if err == nil {
			var connection net.Conn
			if connection, err = net.DialTimeout("tcp", address, time.Second); err == nil {
				return connection, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}

// closeQuietly closes a connection whose end both sides have already seen.
func closeQuietly(c io.Closer) { _ = c.Close() }

package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/inetaf/tcpproxy"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// servicePatience is how long a connection to the deployed manager may wait for a pod. After a restart,
// the API server lists the pods of before for a while.
const servicePatience = 20 * time.Second

// forward lets pods reach the servers, which listen on loopback only: the supervisor listens on addresses
// of the bridge, to which no other machine has a route.
func (s *Session) forward() error {
	if !s.options.Node {
		return nil
	}
	s.podProxy.AddRoute(net.JoinHostPort(s.plan.KubernetesIP(), "443"), quietly(tcpproxy.To(s.plan.Loopback(layout.PortAPIServer))))
	for _, port := range []int{layout.PortAPIServer, layout.PortStore, layout.PortAPI} {
		s.podProxy.AddRoute(s.plan.OnBridge(port), quietly(&tcpproxy.DialProxy{Addr: s.plan.Loopback(port)}))
	}
	if err := s.podProxy.Start(); err != nil {
		return fmt.Errorf("listening for pods: %w", err)
	}
	return nil
}

// forwardService makes the deployed manager reachable at the addresses of the process. There is no
// kube-proxy, so each connection goes to one of the Service's ready pods.
func (s *Session) forwardService() error {
	proxy := &tcpproxy.Proxy{}
	for name, port := range map[string]int{"http": layout.PortAPI, "metrics": layout.PortMetrics} {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dialPod(ctx, name) }
		proxy.AddRoute(s.plan.Loopback(port), quietly(&tcpproxy.DialProxy{DialTimeout: servicePatience, DialContext: dial}))
	}
	if err := proxy.Start(); err != nil {
		return fmt.Errorf("listening for the deployed manager: %w", err)
	}
	s.serviceProxy = proxy
	return nil
}

// quietly closes connections without a log line if nothing listens at the other end.
func quietly(p *tcpproxy.DialProxy) *tcpproxy.DialProxy {
	p.OnDialError = func(from net.Conn, _ error) { from.Close() }
	return p
}

func (s *Session) stopForwardingService() {
	if s.serviceProxy != nil {
		_ = s.serviceProxy.Close()
	}
	s.serviceProxy = nil
}

// dialPod connects to a port of any ready pod behind the manager's Service, and retries until ctx ends.
func (s *Session) dialPod(ctx context.Context, portName string) (connection net.Conn, err error) {
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		address, err := s.readyPod(attempt, portName)
		if err == nil {
			connection, err = (&net.Dialer{Timeout: time.Second}).DialContext(attempt, "tcp", address)
		}
		return err == nil, nil
	})
	return connection, err
}

func (s *Session) readyPod(ctx context.Context, portName string) (string, error) {
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

package session

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/inetaf/tcpproxy"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// servicePatience bounds the wait for a pod of the deployed manager: after a restart, old pods are listed for a while.
const servicePatience = 20 * time.Second

// forward lets pods reach the servers, which listen on loopback only, at addresses of the bridge, to which no other machine has a route.
func (s *Session) forward() error {
	if !s.options.Node {
		return nil
	}
	for _, port := range []int{layout.PortAPIServer, layout.PortStore, layout.PortAPI} {
		s.podProxy.AddRoute(s.plan.OnBridge(port), quietly(&tcpproxy.DialProxy{Addr: s.plan.Loopback(port)}))
	}
	if err := s.podProxy.Start(); err != nil {
		return fmt.Errorf("listening for pods: %w", err)
	}
	return nil
}

// forwardService makes the deployed manager reachable at the addresses of the process.
func (s *Session) forwardService(ctx context.Context) error {
	proxy := &tcpproxy.Proxy{}
	for service, port := range map[string]int{serviceName: layout.PortAPI, metricsServiceName: layout.PortMetrics} {
		address, err := s.clusterAddress(ctx, service)
		if err != nil {
			return err
		}
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialPatiently(ctx, address) }
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

// dialPatiently retries until ctx ends: there may be no pod yet, or only a stale one.
func dialPatiently(ctx context.Context, address string) (connection net.Conn, err error) {
	dialer := &net.Dialer{Timeout: time.Second}
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		connection, err = dialer.DialContext(ctx, "tcp", address)
		return err == nil, nil
	})
	return connection, err
}

// clusterAddress is the cluster IP of a Service of the manager, and its first port.
func (s *Session) clusterAddress(ctx context.Context, name string) (string, error) {
	var service struct {
		Spec struct {
			ClusterIP string
			Ports     []struct{ Port int }
		}
	}
	if err := s.client.fetch(ctx, s.server()+"/api/v1/namespaces/"+systemNamespace+"/services/"+name, &service); err != nil {
		return "", err
	}
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(service.Spec.Ports[0].Port)), nil
}

package client_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/inmemory"
)

// inMemory starts servers, by their hosts, whose connections are no sockets, and returns a client of them for the clock of
// synctest.
func inMemory(t *testing.T, servers map[string]http.Handler) *http.Client {
	t.Helper()
	t.Cleanup(func() { time.Sleep(time.Second) }) // the servers wait half a second for clients that still send
	listeners := map[string]*inmemory.Listener{}
	for host, handler := range servers {
		address := host + ":80"
		listeners[address] = inmemory.Listen(address)
		server := &http.Server{Handler: handler}
		go func() { _ = server.Serve(listeners[address]) }()
		t.Cleanup(func() { server.Close() })
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return listeners[address].Dial(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

package client_test

import (
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
	network := inmemory.Network{}
	for host, handler := range servers {
		server, listener := &http.Server{Handler: handler}, network.Listen(host+":80")
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { server.Close() })
	}
	transport := &http.Transport{DialContext: network.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

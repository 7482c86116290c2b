package collect_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/test/inmemory"
)

// patience is for the worlds in memory, where it costs no time.
// It is longer than a few pauses between attempts, and no multiple of the pause: else, both would end together.
const patience = 1400 * time.Millisecond

// inMemory runs a test by the clock of synctest, in a world whose connections are no sockets.
func inMemory(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // the servers wait half a second for clients that still send
		network := inmemory.Network{}
		transport := &http.Transport{DialContext: network.Dial}
		w := newWorldOn(t, func(*testing.T) net.Listener { return network.Listen(fmt.Sprintf("host-%d:80", len(network))) })
		w.collector.Client = &http.Client{Transport: transport}
		w.collector.Patience, w.collector.Budget = patience, 30*time.Second
		t.Cleanup(transport.CloseIdleConnections)
		test(t, w)
	})
}

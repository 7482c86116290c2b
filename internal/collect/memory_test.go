package collect_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/test/inmemory"
)

// patience is that of the worlds in memory, in which it costs nothing.
// It is longer than a few pauses between attempts, of which it is no multiple: else, it would end together with one.
const patience = 1400 * time.Millisecond

// inMemory runs a test by the clock of synctest, in a world whose connections are no sockets.
func inMemory(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // the servers wait half a second for clients that still send
		n := network{}
		transport := &http.Transport{DialContext: n.dial}
		w := newWorldOn(t, n.listen)
		w.collector.Client = &http.Client{Transport: transport}
		w.collector.Patience, w.collector.Budget = patience, 30*time.Second
		t.Cleanup(transport.CloseIdleConnections)
		test(t, w)
	})
}

// network has listeners by their addresses.
type network map[string]*inmemory.Listener

func (n network) listen(*testing.T) net.Listener {
	name := fmt.Sprintf("host-%d:80", len(n))
	n[name] = inmemory.Listen(name)
	return n[name]
}

func (n network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if l := n[address]; l != nil {
		return l.Dial(ctx, kind, address)
	}
	return (&net.Dialer{}).DialContext(ctx, kind, address)
}

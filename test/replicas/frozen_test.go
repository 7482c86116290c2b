package replicas

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestFrozen: the connections to the API server stop without being closed, as if a machine of the control plane was
// switched off, or a firewall dropped them. New connections work.
func TestFrozen(t *testing.T) {
	tier.All(t, "it waits until the manager gives up connections that are dead")
	s := apiserver.Alone(t)
	config := rest.CopyConfig(s.Manager(t))
	tunnel := newTunnel(t, config)
	config.Host = "https://" + tunnel.listener.Addr().String()
	tm := newTeam(t, s)
	all := replicas(t, s, kubeconfigOf(t, config), 1)
	tm.awaitKnown(all)
	turn := 0
	tier.AtMost(t, "a notification", 30*time.Second, func() time.Duration {
		turn++
		tunnel.freeze()
		a := tm.notified(all[0], fmt.Sprintf("frozen-%d", turn))
		t.Logf("FROZEN seconds=%.1f", a.Took.Seconds())
		if a.Results[0].Created == "" {
			t.Errorf("%+v, want a created run", a)
		}
		return a.Took
	})
}

// tunnel forwards bytes until it is frozen.
type tunnel struct {
	listener net.Listener
	mu       sync.Mutex
	frozen   chan struct{} // closed where the connections so far are frozen
}

func newTunnel(t testing.TB, config *rest.Config) *tunnel {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tn := &tunnel{listener: listener, frozen: make(chan struct{})}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go tn.pass(near, target.Host)
		}
	}()
	return tn
}

func (tn *tunnel) pass(near net.Conn, target string) {
	far, err := net.Dial("tcp", target)
	if err != nil {
		near.Close()
		return
	}
	tn.mu.Lock()
	frozen := tn.frozen
	tn.mu.Unlock()
	go relay(near, far, frozen)
	relay(far, near, frozen)
}

// relay ends with the connection. Once frozen, it drops all data.
func relay(to, from net.Conn, frozen <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-frozen:
			_, _ = io.Copy(io.Discard, from)
			to.Close()
			return
		default:
		}
		if err != nil {
			to.Close()
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			from.Close()
			return
		}
	}
}

func (tn *tunnel) freeze() {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	close(tn.frozen)
	tn.frozen = make(chan struct{})
}

package replicas

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// The bounds of connections, heads and waiting requests count on one request at a time on each
// connection. HTTP/2 would have hundreds, with heads of their own.
const (
	// http2Preface begins a connection of HTTP/2, here with an empty SETTINGS frame.
	http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

	http2Upgrade = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
)

// TestNoHTTP2: no port of the manager speaks HTTP/2, neither with prior knowledge nor by an upgrade. With prior
// knowledge, the server closes the connection.
func TestNoHTTP2(t *testing.T) {
	s := apiserver.Alone(t)
	r := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)[0]
	for name, address := range map[string]string{"API": r.URL, "metrics": r.Metrics, "probes": r.Probes} {
		address = strings.TrimPrefix(address, "http://")
		t.Run(name+" at once", func(t *testing.T) {
			for range preludes() {
				if answer := talk(t, address, http2Preface); strings.Contains(answer, "\x00") || strings.Contains(answer, " 200 ") {
					t.Fatalf("got %q, want no HTTP/2", answer)
				}
			}
		})
		t.Run(name+" by an upgrade", func(t *testing.T) {
			c := dial(t, address)
			_, _ = io.WriteString(c, http2Upgrade)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusSwitchingProtocols || resp.ProtoMajor != 1 {
				t.Errorf("%s %s, want an answer of HTTP/1.1", resp.Proto, resp.Status)
			}
		})
	}
}

// preludes are several, because the server may close a connection at any moment.
func preludes() int {
	if tier.Gate() {
		return 10
	}
	return 100
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, poll.Limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(poll.Limit))
	return c
}

// talk returns all that comes until the server closes the connection.
func talk(t *testing.T, address, text string) string {
	t.Helper()
	c := dial(t, address)
	_, _ = io.WriteString(c, text)
	answer, err := io.ReadAll(c)
	if os.IsTimeout(err) {
		t.Fatalf("the connection is still open; it answered %q", answer)
	}
	return string(answer)
}

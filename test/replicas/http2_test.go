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
	s := apiserver.New(t)
	r := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)[0]
	for name, address := range map[string]string{"API": r.url, "metrics": r.metrics, "probes": r.probes} {
		address = strings.TrimPrefix(address, "http://")
		t.Run(name+" at once", func(t *testing.T) {
			for range 100 {
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

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	return c
}

// talk returns all that comes until the server closes the connection, which it has to do at once.
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

package listen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// keyed authenticates requests that name a tenant in the query, and closes the connections of others.
func keyed(w http.ResponseWriter, r *http.Request) {
	tenant := r.URL.Query().Get("tenant")
	if tenant == "" {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	Authenticated(r.Context(), tenant)
	hello(w, r)
}

func bounded(t *testing.T, handler http.HandlerFunc, b Bounds) *running {
	t.Helper()
	// A connection that the bounds do not close stays until the test hangs.
	server := &http.Server{Addr: "127.0.0.1:0", Handler: handler, ReadHeaderTimeout: 2 * poll.Limit}
	return runServer(t, server, Options{DrainTimeout: time.Second, Bounds: b})
}

func (r *running) limiter() *connLimiter { return r.listener.(*listener).limiter }

// awaitSilent waits until so many connections are silent.
func (r *running) awaitSilent(n int) {
	r.t.Helper()
	poll.True(r.t, fmt.Sprintf("%d connections are silent", n), func() bool {
		r.limiter().mu.Lock()
		defer r.limiter().mu.Unlock()
		return r.limiter().silent.count == n
	})
}

// age makes the silent connections so old that others may take their places.
func (r *running) age() {
	r.limiter().mu.Lock()
	defer r.limiter().mu.Unlock()
	for _, members := range r.limiter().silent.groups {
		for e := members.Front(); e != nil; e = e.Next() {
			c := e.Value.(*conn)
			c.accepted = c.accepted.Add(-gracePeriod)
		}
	}
}

// dial connects from an address of this machine.
func (r *running) dial(from string) net.Conn {
	r.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: poll.Limit}
	c, err := d.Dial("tcp", r.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// get sends a request on the connection and returns the status, or 0 if the connection was closed.
func get(t *testing.T, c net.Conn, path string) int {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(poll.Limit))
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		return 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// awaitClosed waits until the server has closed the connection.
func awaitClosed(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(poll.Limit))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection is not closed: %v", err)
	}
}

// TestIdleConnections: silent connections, many more than there is room for, lock out no client, neither from the
// same address nor from another.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	r := bounded(t, keyed, Bounds{Unproven: 32, Idle: 8, Total: 64})
	for range 100 {
		r.dial("127.0.0.1")
	}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		tier.AtMost(t, "an answer to "+from, time.Second, func() time.Duration {
			began := time.Now()
			if status := get(t, r.dial(from), "/?tenant=a"); status != http.StatusOK {
				t.Errorf("from %s: status %d, want 200", from, status)
			}
			return time.Since(began)
		})
	}
}

// TestLargestGroupMakesRoom: the address with the most connections loses its oldest.
func TestLargestGroupMakesRoom(t *testing.T) {
	t.Parallel()
	r := bounded(t, keyed, Bounds{Unproven: 4, Idle: 4})
	lone := r.dial("127.0.0.2")
	var conns []net.Conn
	for range 3 {
		conns = append(conns, r.dial("127.0.0.1"))
	}
	r.awaitSilent(4)
	r.age()
	newcomer := r.dial("127.0.0.3")
	awaitClosed(t, conns[0])
	for name, c := range map[string]net.Conn{"the newcomer": newcomer, "the lone one": lone, "the second": conns[1], "the third": conns[2]} {
		if status := get(t, c, "/?tenant=a"); status != http.StatusOK {
			t.Errorf("%s: status %d, want 200", name, status)
		}
	}
}

// TestProvenStay: connections that wait between two requests of a tenant are not closed for newcomers that
// have shown no key, and of those between two requests the tenant with the most loses its oldest.
func TestProvenStay(t *testing.T) {
	t.Parallel()
	r := bounded(t, keyed, Bounds{Unproven: 2, Idle: 3})
	conns := map[string]net.Conn{}
	ask := func(name string, idle int) {
		t.Helper()
		if conns[name] == nil {
			conns[name] = r.dial("127.0.0.1")
		}
		if status := get(t, conns[name], "/?tenant="+name[:1]); status != http.StatusOK {
			t.Errorf("%s: status %d, want 200", name, status)
		}
		r.awaitIdle(idle)
	}
	ask("a1", 1)
	ask("a2", 2)
	ask("b1", 3)
	for range 20 {
		r.dial("127.0.0.1")
	}
	ask("a1", 3)
	ask("a2", 3)
	ask("b1", 3)
	ask("a3", 3)
	awaitClosed(t, conns["a1"])
	ask("b2", 3)
	awaitClosed(t, conns["a2"])
	for _, name := range []string{"a3", "b1", "b2"} {
		ask(name, 3)
	}
}

// awaitIdle waits until so many connections are between two requests.
func (r *running) awaitIdle(n int) {
	r.t.Helper()
	poll.True(r.t, fmt.Sprintf("%d connections are idle", n), func() bool {
		r.limiter().mu.Lock()
		defer r.limiter().mu.Unlock()
		return r.limiter().idle.count == n
	})
}

func TestHeaderLines(t *testing.T) {
	t.Parallel()
	r := bounded(t, keyed, Bounds{Unproven: 4, Idle: 4, HeaderLines: 10})
	body := strings.Repeat("\n", 1000)
	cases := map[string]struct {
		request string
		want    string
	}{
		"as many as allowed":          {"GET /?tenant=a HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 8) + "\r\n", "200"},
		"too many":                    {"GET /?tenant=a HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 9) + "\r\n", "400"},
		"too many, and no end":        {"GET /?tenant=a HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\n", 100), "400"},
		"a body has as many it likes": {"POST /?tenant=a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + body, "200"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := r.dial("127.0.0.1")
			for range 2 { // the second request on the connection is counted anew
				_ = c.SetDeadline(time.Now().Add(poll.Limit))
				_, _ = io.WriteString(c, tc.request)
				line, _ := bufio.NewReader(c).ReadString('\n')
				if !strings.HasPrefix(line, "HTTP/1.1 "+tc.want) {
					t.Fatalf("%q, want %s", line, tc.want)
				}
				if tc.want != "200" {
					return
				}
			}
		})
	}
}

// TestAnswersAreFinished: the answer to a request without a key is completed, even if many connections come meanwhile.
func TestAnswersAreFinished(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	r := bounded(t, func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		hello(w, nil)
	}, Bounds{Unproven: 3, Idle: 3})
	slow := r.dial("127.0.0.1")
	status := make(chan int)
	go func() { status <- get(t, slow, "/") }()
	<-entered
	closed := make(chan struct{}, 6)
	for range 6 {
		c := r.dial("127.0.0.1")
		_, _ = io.WriteString(c, "GET") // and no more
		go func() {
			awaitClosed(t, c)
			closed <- struct{}{}
		}()
	}
	for range 4 { // which made room for the other two
		<-closed
	}
	close(leave)
	if got := <-status; got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}

// TestLargeHeads: connections with a large unfinished head are closed for each other, and for connections that
// complete their head, with or without a key.
func TestLargeHeads(t *testing.T) {
	t.Parallel()
	r := bounded(t, keyed, Bounds{Unproven: 100, Idle: 100, LargeHeads: 4})
	large := "X: " + strings.Repeat("x", 2*largeHead)
	for range 10 {
		_, _ = io.WriteString(r.dial("127.0.0.1"), "GET / HTTP/1.1\r\n"+large)
		proven := r.dial("127.0.0.1")
		if status := get(t, proven, "/?tenant=a"); status != http.StatusOK {
			t.Fatalf("status %d, want 200", status)
		}
		_, _ = io.WriteString(proven, "GET / HTTP/1.1\r\n"+large)
	}
	poll.Until(t, "4 connections with large heads are left", func() string {
		r.limiter().mu.Lock()
		defer r.limiter().mu.Unlock()
		if large, total := r.limiter().large.count, r.limiter().total; large != 4 || total != 4 {
			return fmt.Sprintf("%d have large heads, and %d are open", large, total)
		}
		return ""
	})
	for _, path := range []string{"/?tenant=a", "/?tenant=b HTTP/1.1\r\n" + large + "\r\nY: /"} {
		if status := get(t, r.dial("127.0.0.1"), path); status != http.StatusOK {
			t.Errorf("%.20s: status %d, want 200", path, status)
		}
	}
}

// TestRefusedConnections: connections that are closed after an error make room while the client may read it.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	r := bounded(t, keyed, Bounds{Unproven: 4, Idle: 4, HeaderLines: 10})
	tier.AtMost(t, "an answer beside them", 2*time.Second, func() time.Duration {
		for range 40 {
			_, _ = io.WriteString(r.dial("127.0.0.1"), "GET / HTTP/1.1\r\n"+strings.Repeat("A: b\r\n", 100))
		}
		began := time.Now()
		if status := get(t, r.dial("127.0.0.1"), "/?tenant=a"); status != http.StatusOK {
			t.Errorf("status %d, want 200", status)
		}
		return time.Since(began)
	})
}

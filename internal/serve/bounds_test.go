package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
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
	return run(t, handler, Options{DrainTimeout: time.Second, Bounds: b})
}

// dial connects from an address of this machine.
func (r *running) dial(from string) net.Conn {
	r.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
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
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
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

// isClosed reports whether the server closed the connection.
func isClosed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestIdleConnections: silent connections, many more than there is room for, lock out no client, neither from the
// same address nor from another.
func TestIdleConnections(t *testing.T) {
	r := bounded(t, keyed, Bounds{Unproven: 32, Idle: 8, Total: 64})
	for range 100 {
		r.dial("127.0.0.1")
	}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		began := time.Now()
		if status := get(t, r.dial(from), "/?tenant=a"); status != http.StatusOK || time.Since(began) > time.Second {
			t.Errorf("from %s: status %d after %s, want 200 within 1s", from, status, time.Since(began))
		}
	}
}

// TestLargestGroupMakesRoom: the address with the most connections loses its oldest.
func TestLargestGroupMakesRoom(t *testing.T) {
	r := bounded(t, keyed, Bounds{Unproven: 4, Idle: 4})
	lone := r.dial("127.0.0.2")
	var conns []net.Conn
	for range 3 {
		conns = append(conns, r.dial("127.0.0.1"))
	}
	time.Sleep(2 * gracePeriod)
	newcomer := r.dial("127.0.0.3")
	if status := get(t, newcomer, "/?tenant=a"); status != http.StatusOK {
		t.Errorf("the newcomer: status %d, want 200", status)
	}
	if !isClosed(conns[0]) || isClosed(conns[1]) || isClosed(conns[2]) || isClosed(lone) {
		t.Error("not the oldest of the largest group was closed")
	}
}

// TestBurst: connections that send their requests at once are all answered, however many come together.
func TestBurst(t *testing.T) {
	r := bounded(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Millisecond); keyed(w, r) }, Bounds{Unproven: 4, Idle: 500})
	statuses := make(chan int)
	for range 200 {
		c := r.dial("127.0.0.1")
		go func() { statuses <- get(t, c, "/?tenant=a") }()
	}
	for range 200 {
		if status := <-statuses; status != http.StatusOK {
			t.Fatalf("status %d, want 200", status)
		}
	}
}

// TestProvenStay: connections that wait between two requests of a tenant are not closed for newcomers that
// have shown no key, and of those between two requests the tenant with the most loses its oldest.
func TestProvenStay(t *testing.T) {
	r := bounded(t, keyed, Bounds{Unproven: 2, Idle: 3})
	conns := map[string]net.Conn{}
	for _, name := range []string{"a1", "a2", "b1"} {
		conns[name] = r.dial("127.0.0.1")
		if status := get(t, conns[name], "/?tenant="+name[:1]); status != http.StatusOK {
			t.Fatalf("status %d, want 200", status)
		}
	}
	for range 20 {
		r.dial("127.0.0.1")
	}
	for _, name := range []string{"a1", "a2", "b1"} {
		if status := get(t, conns[name], "/?tenant="+name[:1]); status != http.StatusOK {
			t.Errorf("%s: status %d on the same connection, want 200", name, status)
		}
	}
	conns["b2"] = r.dial("127.0.0.1")
	conns["a3"] = r.dial("127.0.0.1")
	for _, name := range []string{"a3", "b2"} {
		if status := get(t, conns[name], "/?tenant="+name[:1]); status != http.StatusOK {
			t.Errorf("%s: status %d, want 200", name, status)
		}
	}
	var open []string
	for name, c := range conns {
		if !isClosed(c) {
			open = append(open, name)
		}
	}
	slices.Sort(open)
	if want := []string{"a3", "b1", "b2"}; !slices.Equal(open, want) {
		t.Errorf("open are %v, want %v", open, want)
	}
}

// TestTotal: where all connections are busy, another waits.
func TestTotal(t *testing.T) {
	leave := make(chan struct{})
	r := bounded(t, func(w http.ResponseWriter, r *http.Request) {
		Authenticated(r.Context(), "a")
		if r.URL.Path == "/slow" {
			<-leave
		}
		hello(w, r)
	}, Bounds{Unproven: 2, Idle: 2, Total: 2})
	statuses := make(chan int, 3)
	for range 2 {
		c := r.dial("127.0.0.1")
		go func() { statuses <- get(t, c, "/slow") }()
	}
	time.Sleep(100 * time.Millisecond)
	go func() { statuses <- get(t, r.dial("127.0.0.1"), "/") }()
	select {
	case status := <-statuses:
		t.Errorf("a connection too many got %d", status)
	case <-time.After(100 * time.Millisecond):
	}
	close(leave)
	for range 3 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("status %d, want 200", status)
		}
	}
}

func TestHeaderLines(t *testing.T) {
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
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
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
	r := bounded(t, func(w http.ResponseWriter, _ *http.Request) { time.Sleep(10 * gracePeriod); hello(w, nil) }, Bounds{Unproven: 3, Idle: 3})
	slow := r.dial("127.0.0.1")
	status := make(chan int)
	go func() { status <- get(t, slow, "/") }()
	for began := time.Now(); time.Since(began) < 8*gracePeriod; time.Sleep(gracePeriod / 5) {
		r.dial("127.0.0.1")
	}
	if got := <-status; got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}

// TestLargeHeads: connections with a large unfinished head are closed for each other, and for connections that
// complete their head, with or without a key.
func TestLargeHeads(t *testing.T) {
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
	time.Sleep(2 * gracePeriod)
	for _, path := range []string{"/?tenant=a", "/?tenant=b HTTP/1.1\r\n" + large + "\r\nY: /"} {
		if status := get(t, r.dial("127.0.0.1"), path); status != http.StatusOK {
			t.Errorf("%.20s: status %d, want 200", path, status)
		}
	}
	limiter := r.listener.(*listener).limiter
	limiter.mu.Lock()
	defer limiter.mu.Unlock()
	if limiter.large.count > 4 || limiter.total > 16 {
		t.Errorf("%d connections have large heads, want at most 4; %d are open", limiter.large.count, limiter.total)
	}
}

// TestRefusedConnections: connections that are closed after an error make room while the client may read it.
func TestRefusedConnections(t *testing.T) {
	r := bounded(t, keyed, Bounds{Unproven: 4, Idle: 4, HeaderLines: 10})
	for range 40 {
		_, _ = io.WriteString(r.dial("127.0.0.1"), "GET / HTTP/1.1\r\n"+strings.Repeat("A: b\r\n", 100))
	}
	began := time.Now()
	if status := get(t, r.dial("127.0.0.1"), "/?tenant=a"); status != http.StatusOK || time.Since(began) > 2*time.Second {
		t.Errorf("status %d after %s, want 200 within 2s", status, time.Since(began))
	}
}

func TestAddressGroup(t *testing.T) {
	cases := map[string]struct {
		a, b string
		same bool
	}{
		"one IPv4 address":        {"192.0.2.1", "192.0.2.1", true},
		"two IPv4 addresses":      {"192.0.2.1", "192.0.2.2", false},
		"one as IPv6":             {"192.0.2.1", "::ffff:192.0.2.1", true},
		"one network of IPv6":     {"2001:db8::1", "2001:db8::ffff:1", true},
		"two networks of IPv6":    {"2001:db8::1", "2001:db8:0:1::1", false},
		"IPv4 and IPv6 are apart": {"192.0.2.1", "2001:db8::1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := addressGroup(&net.TCPAddr{IP: net.ParseIP(tc.a), Port: 1}), addressGroup(&net.TCPAddr{IP: net.ParseIP(tc.b), Port: 2})
			if (a == b) != tc.same {
				t.Errorf("groups %s and %s", a, b)
			}
		})
	}
}

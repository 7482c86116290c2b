package answers

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

const (
	containerMemory = 256 << 20 // of config/manager
	goMemoryLimit   = "230MiB"

	// promptly is how soon somebody with a key is answered, whatever the others do.
	promptly = time.Second
)

// flood is a crowd of connections, each of which sends something and then stays.
type flood struct {
	kind        string
	connections int
	url         string
	first       string // answered, where there is one, before the rest is sent
	send        []byte
}

// TestFloods runs the manager in the memory that its container has, and floods it from outside. Whoever
// has a key is answered in time, and the process lives.
func TestFloods(t *testing.T) {
	needDescriptors(t, 10000)
	s := apiserver.New(t)
	memory := newCgroup(t, containerMemory)
	tm := newTeam(t, s)
	systemNamespace(t, s)
	t.Setenv("GOMEMLIMIT", goMemoryLimit)
	r := startReplica(t, kubeconfigOf(t, s.Manager(t)), memory.run()...)
	r.awaitReady()
	tm.awaitKnown([]*replica{r})
	a := tm.notified(r, "waited-for")
	t.Logf("FLOOD kind=none connections=0 peak_mib=%d", memory.peakMiB())

	for _, f := range floods(r, tm.key, a.Results[0].Created) {
		passed := t.Run(f.kind, func(t *testing.T) {
			slowest, sent := f.run(t, func(n int) (answer, error) {
				return notifyOnce(t, r.url, tm.key, fmt.Sprintf(`{"branch":"%s","sha":"flood-%s-%d"}`, f.kind, f.kind, n))
			})
			t.Logf("FLOOD kind=%s connections=%d peak_mib=%d notifications=%d slowest_ms=%d", f.kind, f.connections, memory.peakMiB(), sent, slowest.Milliseconds())
			if memory.kills() > 0 {
				t.Error("the kernel killed the manager for its memory")
			}
		})
		if !passed {
			t.FailNow() // the next one would meet a dead process, and take minutes
		}
	}
	r.awaitReady()
}

func floods(r *replica, key, suite string) []flood {
	host := "Host: x\r\n"
	bearer := "Authorization: Bearer " + key + "\r\n"
	ask := "GET /api/v0/ci-greenlight/" + suite
	return []flood{
		{kind: "headers", connections: 3000, url: r.url, send: []byte("POST / HTTP/1.1\r\n" + host + headers(60<<10, 1000))},
		{kind: "many_headers", connections: 3000, url: r.url, send: []byte("POST / HTTP/1.1\r\n" + host + headers(15<<10, 4))},
		{kind: "metrics_headers", connections: 300, url: r.metrics, send: []byte("GET /metrics HTTP/1.1\r\n" + host + headers(1<<20, 1000))},
		{kind: "probe_headers", connections: 300, url: r.probes, send: []byte("GET /readyz HTTP/1.1\r\n" + host + headers(1<<20, 1000))},
		{kind: "waiting", connections: 3500, url: r.url, send: []byte(ask + "?wait=55 HTTP/1.1\r\n" + host + bearer + headers(15<<10, 1000) + "\r\n")},
		{kind: "waiting_refused", connections: 3500, url: r.url, send: []byte(ask + "?wait=55 HTTP/1.1\r\n" + host + bearer + headers(60<<10, 1000) + "\r\n")},
		{kind: "next_headers", connections: 3000, url: r.url, first: ask + " HTTP/1.1\r\n" + host + bearer + "\r\n",
			send: []byte("GET / HTTP/1.1\r\n" + host + headers(15<<10, 1000))},
		{kind: "idle", connections: 8192, url: r.url},
	}
}

// headers are so many bytes of header fields with values of that length, and no end of them.
func headers(bytes, value int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "X-%d: %s\r\n", i, strings.Repeat("x", value))
	}
	return b.String()[:bytes]
}

// run floods, and notifies all the while. It returns the time that the slowest notification took.
func (f flood) run(t *testing.T, notify func(n int) (answer, error)) (slowest time.Duration, sent int) {
	t.Helper()
	stop, opened := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { f.open(stop, opened) })
	defer all.Wait()
	defer close(stop)
	for after := 0; after < 4; time.Sleep(200 * time.Millisecond) {
		a, err := notify(sent)
		sent++
		slowest = max(slowest, a.Took)
		if err != nil || a.Status != http.StatusOK || a.Took > promptly {
			t.Errorf("notification %d: status %d after %s, %v, want 200 within %s", sent, a.Status, a.Took, err, promptly)
			return slowest, sent
		}
		select {
		case <-opened:
			after++
		default:
		}
	}
	return slowest, sent
}

// open makes all connections, several at a time, and holds them.
func (f flood) open(stop <-chan struct{}, opened chan<- struct{}) {
	var ready, ended sync.WaitGroup
	slots := make(chan struct{}, 100)
	for range f.connections {
		slots <- struct{}{}
		ready.Add(1)
		ended.Go(func() {
			c := f.connect()
			<-slots
			ready.Done()
			<-stop
			if c != nil {
				c.Close()
			}
		})
	}
	ready.Wait()
	close(opened)
	ended.Wait()
}

// connect returns nil where the server does not want the connection.
func (f flood) connect() net.Conn {
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(f.url, "http://"), 5*time.Second)
	if err != nil {
		return nil
	}
	_ = c.(*net.TCPConn).SetLinger(0) // or the ports would be used up
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if f.first != "" {
		_, _ = io.WriteString(c, f.first)
		_, _ = c.Read(make([]byte, 2048))
	}
	_, _ = io.Copy(c, bytes.NewReader(f.send))
	_ = c.SetDeadline(time.Time{})
	return c
}

// notifyOnce uses a connection of its own.
func notifyOnce(t *testing.T, url, key, body string) (answer, error) {
	t.Helper()
	began := time.Now()
	fresh := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/webhooks/deploy_success", strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := fresh.Do(r)
	if err != nil {
		return answer{Took: time.Since(began)}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return answer{Status: resp.StatusCode, Body: string(content), Took: time.Since(began)}, err
}

// needDescriptors skips the test where so many files cannot be open, and fails it in CI.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max >= n {
		return // Go has raised the soft limit to the hard one
	}
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	missing("SKIPPED, NOT PASSED: %d files may be open, and %d are needed; raise `ulimit -n`", limit.Max, n)
}

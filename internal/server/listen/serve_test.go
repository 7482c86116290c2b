package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/poll"
)

// running is a server in its own goroutine.
type running struct {
	*Server
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

func run(t *testing.T, handler http.Handler, options Options) *running {
	t.Helper()
	return runServer(t, &http.Server{Addr: "127.0.0.1:0", Handler: handler}, options)
}

func runServer(t *testing.T, server *http.Server, options Options) *running {
	t.Helper()
	s, err := Listen(server, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &running{Server: s, t: t, stop: stop, done: make(chan error, 1)}
	if err := s.Ready(nil); err == nil {
		t.Error("ready before the start")
	}
	go func() { r.done <- s.Start(ctx) }()
	poll.True(t, "the server is ready", func() bool { return s.Ready(nil) == nil })
	return r
}

func (r *running) get() (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: poll.Limit}
	resp, err := client.Get("http://" + r.Addr().String())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestServes(t *testing.T) {
	r := run(t, http.HandlerFunc(hello), Options{DrainTimeout: time.Second})
	if got, err := r.get(); got != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if r.NeedLeaderElection() {
		t.Error("only the leader would serve")
	}
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	if _, err := r.get(); err == nil {
		t.Error("it serves after the stop")
	}
}

func TestAddressTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, address := range map[string]string{"taken": taken.Addr().String(), "not an address": "nonsense:port"} {
		if _, err := Listen(&http.Server{Addr: address}, Options{}); err == nil || !strings.Contains(err.Error(), "listen for HTTP requests") {
			t.Errorf("%s: %v, want an error before the start", name, err)
		}
	}
}

// TestConnectionsWaitForTheStart: the caches of the manager are filled between the two.
func TestConnectionsWaitForTheStart(t *testing.T) {
	s, err := Listen(&http.Server{Addr: "127.0.0.1:0", Handler: http.HandlerFunc(hello)}, Options{DrainTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan string)
	go func() {
		body, _ := (&running{Server: s}).get()
		answered <- body
	}()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = s.Start(ctx) }()
	if got := <-answered; got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestDrainEnds(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	r := run(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-leave }),
		Options{DrainTimeout: 50 * time.Millisecond})
	defer close(leave)
	go func() { _, _ = r.get() }()
	<-entered
	r.stop()
	if err := <-r.done; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("%v, want an error that says that requests were cut off", err)
	}
}

func TestServeFails(t *testing.T) {
	s, err := Listen(&http.Server{Addr: "127.0.0.1:0"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.listener.Close()
	if err := s.Start(t.Context()); err == nil || s.Ready(nil) == nil {
		t.Errorf("%v, want an error, and not to be ready", err)
	}
}

func TestStoppedBeforeItServes(t *testing.T) {
	s, err := Listen(&http.Server{Addr: "127.0.0.1:0"}, Options{Await: func() bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Start(ctx); err != nil {
		t.Errorf("stopped before it served: %v", err)
	}
}

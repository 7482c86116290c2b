package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
	waitUntil(t, func() bool { return s.Ready(nil) == nil })
	return r
}

func waitUntil(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in 10s")
		}
	}
}

func (r *running) get() (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
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

// TestDrains: readiness fails at once, new requests are still taken for the delay, and a request
// that is being answered is answered to its end.
func TestDrains(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			close(entered)
			<-leave
		}
		if r.Context().Err() != nil {
			t.Error("the request was canceled by the stop")
		}
		hello(w, r)
	})
	r := run(t, slow, Options{DrainDelay: 500 * time.Millisecond, DrainTimeout: 10 * time.Second})
	answered := make(chan string)
	go func() {
		body, _ := r.get()
		answered <- body
	}()
	<-entered
	r.stop()
	waitUntil(t, func() bool { return r.Ready(nil) != nil })
	if got, err := r.get(); got != "hello" || err != nil {
		t.Errorf("while readiness spreads: %q, %v, want an answer", got, err)
	}
	waitUntil(t, func() bool { _, err := r.get(); return err != nil })
	select {
	case err := <-r.done:
		t.Errorf("it ended before the last answer: %v", err)
	default:
	}
	close(leave)
	if got := <-answered; got != "hello" {
		t.Errorf("the request that was being answered got %q", got)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}

// TestDrainReleasesClients: a client that keeps its connection learns in time that it needs another one.
func TestDrainReleasesClients(t *testing.T) {
	r := run(t, http.HandlerFunc(hello), Options{DrainDelay: 2 * time.Second, DrainTimeout: 10 * time.Second})
	closes := func() bool {
		resp, err := http.Get("http://" + r.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.Close
	}
	if closes() {
		t.Error("a server that goes on closes connections")
	}
	r.stop()
	waitUntil(t, func() bool { return r.Ready(nil) != nil })
	if !closes() {
		t.Error("a server that stops keeps connections")
	}
}

func TestDrainEnds(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := run(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-leave }), Options{DrainTimeout: 50 * time.Millisecond})
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

// TestAwaits: no request is answered or rejected before Await returns true.
func TestAwaits(t *testing.T) {
	var known atomic.Bool
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !known.Load() {
			t.Error("answered too early")
		}
		hello(w, r)
	})
	s, err := Listen(&http.Server{Addr: "127.0.0.1:0", Handler: handler}, Options{DrainTimeout: time.Second, Await: known.Load})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Start(t.Context()) }()
	answered := make(chan string)
	go func() {
		body, _ := (&running{Server: s}).get()
		answered <- body
	}()
	time.Sleep(50 * time.Millisecond)
	if s.Ready(nil) == nil {
		t.Error("ready too early")
	}
	known.Store(true)
	if got := <-answered; got != "hello" {
		t.Errorf("got %q", got)
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

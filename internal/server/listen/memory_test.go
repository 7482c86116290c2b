package listen

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/test/inmemory"
)

// inMemory is a server whose connections are no sockets, so that it can be tested by the clock of synctest. It has not started.
func inMemory(t *testing.T, handler http.HandlerFunc, options Options) (*Server, *inmemory.Listener) {
	t.Helper()
	s, err := Listen(&http.Server{Addr: "127.0.0.1:0", Handler: handler}, options)
	if err != nil {
		t.Fatal(err)
	}
	m := inmemory.Listen("server:80")
	if bounded, ok := s.listener.(*listener); ok {
		_ = bounded.Listener.Close()
		bounded.Listener = m
		return s, m
	}
	_ = s.listener.Close()
	s.listener = m
	return s, m
}

// request sends a request on a connection of its own, and reports whether the server would close that.
func request(m *inmemory.Listener) (body string, closes bool, err error) {
	transport := &http.Transport{DialContext: m.Dial}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://server")
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return string(all), resp.Close, err
}

// inBackground runs the server until stop is called.
func (s *Server) inBackground(t *testing.T) (stop context.CancelFunc, ended <-chan error) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	return stop, done
}

// TestDrains: readiness fails at once, new requests are still taken for the delay, and a request
// that is being answered is answered to its end.
func TestDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		first := true
		s, m := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			if first {
				first = false
				<-leave
			}
			if r.Context().Err() != nil {
				t.Error("the request was canceled by the stop")
			}
			hello(w, r)
		}, Options{DrainDelay: 5 * time.Second, DrainTimeout: 10 * time.Second})
		stop, ended := s.inBackground(t)
		answered := make(chan string)
		go func() {
			body, _, _ := request(m)
			answered <- body
		}()
		synctest.Wait()
		stop()
		time.Sleep(5*time.Second - 1)
		if s.Ready(nil) == nil {
			t.Error("it is ready while it stops")
		}
		if got, _, err := request(m); got != "hello" || err != nil {
			t.Errorf("while readiness spreads: %q, %v, want an answer", got, err)
		}
		time.Sleep(time.Second)
		if _, _, err := request(m); err == nil {
			t.Error("after the delay it takes requests")
		}
		select {
		case err := <-ended:
			t.Errorf("it ended before the last answer: %v", err)
		default:
		}
		close(leave)
		if got := <-answered; got != "hello" {
			t.Errorf("the request that was being answered got %q", got)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestDrainReleasesClients: a client that keeps its connection learns in time that it needs another one.
func TestDrainReleasesClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := inMemory(t, hello, Options{DrainDelay: 2 * time.Second, DrainTimeout: 10 * time.Second})
		stop, ended := s.inBackground(t)
		if _, closes, err := request(m); closes || err != nil {
			t.Errorf("a server that continues closes connections: %t, %v", closes, err)
		}
		stop()
		synctest.Wait()
		if _, closes, err := request(m); !closes || err != nil {
			t.Errorf("a server that stops closes connections: %t, %v", closes, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAwaits: no request is answered or rejected before Await returns true.
func TestAwaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := time.Now().Add(time.Minute)
		s, m := inMemory(t, hello, Options{DrainTimeout: time.Second, Await: func() bool { return !time.Now().Before(known) }})
		stop, ended := s.inBackground(t)
		go func() {
			time.Sleep(time.Minute - 1)
			if s.Ready(nil) == nil {
				t.Error("ready too early")
			}
		}()
		if got, _, err := request(m); got != "hello" || err != nil || time.Now().Before(known) {
			t.Errorf("got %q, %v at %s, want an answer at %s", got, err, time.Now(), known)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestBurst: connections that send their requests at once are all answered, however many come together.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			keyed(w, r)
		}
		s, m := inMemory(t, slow, Options{DrainTimeout: time.Second, Bounds: Bounds{Unproven: 4, Idle: 500}})
		stop, ended := s.inBackground(t)
		statuses := make(chan int)
		for range 200 {
			go func() {
				c, err := m.Dial(t.Context(), "", "server:80")
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				statuses <- get(t, c, "/?tenant=a")
			}()
		}
		for range 200 {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("status %d, want 200", status)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

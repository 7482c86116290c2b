package listen

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/test/inmemory"
)

// TestUnfinishedBodies: requests without a key that announce a body which never comes lock out no other, although the server waits for
// the body before it answers them.
func TestUnfinishedBodies(t *testing.T) {
	t.Parallel()
	keeping := func(w http.ResponseWriter, r *http.Request) {
		if tenant := r.URL.Query().Get("tenant"); tenant != "" {
			Authenticated(r.Context(), tenant)
			hello(w, r)
			return
		}
		w.WriteHeader(http.StatusUnauthorized) // and keeps the connection
	}
	bounds := Bounds{Unproven: 4, Idle: 4, Total: 8}
	plain := bounded(t, keeping, bounds)
	secure, config := secured(t, keeping, bounds)
	for name, dial := range map[string]func() net.Conn{
		"HTTP":  func() net.Conn { return plain.dial("127.0.0.1") },
		"HTTPS": func() net.Conn { return secure.dialTLS(config) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				_, _ = io.WriteString(dial(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
			}
			if status := get(t, dial(), "/?tenant=a"); status != http.StatusOK {
				t.Errorf("status %d, want 200", status)
			}
		})
	}
}

// TestUnfinishedForms: the connection of a form that does not come may be closed for another, although its handler reads it.
func TestUnfinishedForms(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 20)
	reading := func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
			return
		}
		Authenticated(r.Context(), "a")
		hello(w, r)
	}
	s := bounded(t, reading, Bounds{Unproven: 4, Idle: 4, Total: 8})
	for range 20 {
		_, _ = io.WriteString(s.dial("127.0.0.1"), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	}
	if status := get(t, s.dial("127.0.0.1"), "/"); status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
	for range 4 { // the first ones, with which there was no room
		if err := <-ended; errors.Is(err, net.ErrClosed) {
			return
		}
	}
	t.Error("each form had all the time that a form may take")
}

// TestBodyWithoutKey: only the body of a request whose key was accepted may take long.
func TestBodyWithoutKey(t *testing.T) {
	const readTimeout = 10 * time.Second
	for name, tc := range map[string]struct {
		takes  time.Duration // the body
		key    bool
		lasts  time.Duration // the handler, after it has read the body
		reason string
		want   bool // it is answered
	}{
		"at once":             {lasts: 5 * time.Second, reason: "Nothing is slow but the handler.", want: true},
		"slowly":              {takes: 2 * time.Second, reason: "It has no key."},
		"slowly, with a key":  {takes: 5 * time.Second, key: true, lasts: time.Second, reason: "It has a key.", want: true},
		"never, with a key":   {takes: 2 * readTimeout, key: true, reason: "No body may take longer."},
		"at once, with a key": {lasts: 5 * time.Second, key: true, reason: "It has a key.", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := inmemory.Listen("server:80")
				server := &http.Server{ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout,
					Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if tc.key {
							Authenticated(r.Context(), "a")
						}
						if _, err := io.ReadAll(r.Body); err != nil {
							http.Error(w, err.Error(), http.StatusBadRequest)
							return
						}
						select {
						case <-r.Context().Done():
							http.Error(w, "the client seems to be gone", http.StatusBadRequest)
						case <-time.After(tc.lasts):
						}
					})}
				go server.Serve(bind(server, inner, Bounds{Unproven: 4, Idle: 4}))
				defer server.Close()
				if status := send(t, inner, tc.takes); (status == http.StatusOK) != tc.want {
					t.Errorf("%s status %d", tc.reason, status)
				}
			})
		})
	}
}

// send sends a request whose body takes that long, and returns the status of the answer.
func send(t *testing.T, to *inmemory.Listener, takes time.Duration) int {
	t.Helper()
	c, err := to.Dial(t.Context(), "tcp", "server:80")
	if err != nil {
		t.Fatal(err)
	}
	var sent sync.WaitGroup
	defer sent.Wait()
	defer c.Close()
	sent.Go(func() {
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
		time.Sleep(takes)
		_, _ = io.WriteString(c, "body")
	})
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

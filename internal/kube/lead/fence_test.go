package lead

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// body reports whether it was closed, as a RoundTripper has to.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// transport counts what reaches the API server.
type transport struct{ sent int }

func (t *transport) RoundTrip(*http.Request) (*http.Response, error) {
	t.sent++
	return httptest.NewRecorder().Result(), nil
}

func TestFence(t *testing.T) {
	const valid = 10 * time.Second
	for name, tc := range map[string]struct {
		since time.Duration // the last renewal
		ended bool
		sent  bool
	}{
		"the lease was just renewed":                    {0, false, true},
		"the lease is about to expire":                  {valid - 1, false, true},
		"the process stood still for longer":            {valid, false, false},
		"the term has ended, and the lease is still ok": {0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leading, end := context.WithCancel(t.Context())
				defer end()
				lock := &renewedLock{}
				_ = lock.note(resourcelock.LeaderElectionRecord{}, func() error { return nil })
				ctx := context.WithoutCancel(withFence(leading, lock, valid)) // the worst that a controller can do
				time.Sleep(tc.since)
				if tc.ended {
					end()
				}
				time.AfterFunc(time.Hour, end) // what waits for the lease must have an end
				below, b := &transport{}, &body{Reader: strings.NewReader("{}")}
				request, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://example.com", b)
				resp, err := Fence(below).RoundTrip(request)
				if err == nil {
					resp.Body.Close()
				}
				if (below.sent == 1) != tc.sent || errors.Is(err, errTermOver) == tc.sent || b.closed == tc.sent {
					t.Errorf("sent %d requests, err=%v, body closed=%t", below.sent, err, b.closed)
				}
			})
		})
	}
}

func TestFenceLetsOthersPass(t *testing.T) {
	below := &transport{}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://example.com", nil)
	resp, err := Fence(below).RoundTrip(request)
	if err != nil || below.sent != 1 {
		t.Fatalf("sent %d requests, err=%v", below.sent, err)
	}
	resp.Body.Close()
}

func TestFailedRenewalIsNone(t *testing.T) {
	lock := &renewedLock{}
	if err := lock.note(resourcelock.LeaderElectionRecord{}, func() error { return errors.New("conflict") }); err == nil ||
		!lock.renewed().IsZero() {
		t.Errorf("got %v, renewed at %s", err, lock.renewed())
	}
}

package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

func TestInFlightIsBounded(t *testing.T) {
	block := &blocking{entered: make(chan struct{}), leave: make(chan struct{})}
	h := start(t, setup{objects: acme(), triggers: block, limits: func(l *Limits) { l.InFlight = 1 }})
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, post(withSHA))
		done <- w.Code
	}()
	<-block.entered
	w := h.exchange(post(withSHA))
	if got := decode[problem](t, w); w.Code != 503 || got.FailureCode != "overloaded" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s, want 503 with Retry-After", w.Code, w.Body)
	}
	close(block.leave)
	if code := <-done; code != 200 {
		t.Errorf("the request before: %d, want 200", code)
	}
	if w := h.exchange(post(`{`)); w.Code != 400 {
		t.Errorf("the request afterwards: %d, want to get in", w.Code)
	}
}

// TestNoSlotWithoutAKey: an answer that its client never reads would occupy the slot.
func TestNoSlotWithoutAKey(t *testing.T) {
	block := &blocking{entered: make(chan struct{}), leave: make(chan struct{})}
	h := start(t, setup{objects: acme(), triggers: block, limits: func(l *Limits) { l.InFlight = 1 }})
	cases := map[string]struct {
		request *http.Request
		status  int
	}{
		"openapi.yaml":   {httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil), 200},
		"a wrong key":    {post(withSHA, header("Authorization", "Bearer x")), 401},
		"no such path":   {post(withSHA, path("/nowhere")), 404},
		"another method": {post(withSHA, method("DELETE")), 405},
	}
	go h.ServeHTTP(httptest.NewRecorder(), post(withSHA))
	<-block.entered
	defer close(block.leave)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w := h.exchange(tc.request); w.Code != tc.status {
				t.Errorf("%d while the only slot is taken, want %d: %s", w.Code, tc.status, w.Body)
			}
		})
	}
}

type blocking struct {
	match.Index
	entered, leave chan struct{}
}

func (b *blocking) Match(string, *notification.Notification, func() bool) ([]*v1alpha1.Trigger, error) {
	b.entered <- struct{}{}
	<-b.leave
	return nil, nil
}

// TestTeamsShareTheServer: the notifications of one team do not lock out another team.
func TestTeamsShareTheServer(t *testing.T) {
	otherKey := apiKey("pf_other_and_long")
	otherKey.Namespace = "other"
	h := start(t, setup{objects: acme(team("other"), otherKey), limits: func(l *Limits) { l.InFlight = 10 }})
	reading, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	turnedAway := 0
	for range 11 {
		done := make(chan struct{})
		go func() {
			body := &stalled{reading: reading, release: release, Reader: strings.NewReader(withSHA)}
			h.ServeHTTP(httptest.NewRecorder(), post(withSHA, func(r *http.Request) { r.Body = io.NopCloser(body) }))
			close(done)
		}()
		select {
		case <-reading:
		case <-done:
			turnedAway++
		}
	}
	if turnedAway == 0 {
		t.Error("one team got every slot")
	}
	if w := h.exchange(post(withSHA, header("Authorization", "Bearer pf_other_and_long"))); w.Code != http.StatusOK {
		t.Errorf("another team is answered %d: %s", w.Code, w.Body)
	}
}

package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestInFlightIsBounded(t *testing.T) {
	block := &blocking{entered: make(chan struct{}), leave: make(chan struct{})}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Triggers: block, Limits: func(l *limits.Limits) { l.InFlight = 1 }})
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, apitest.Post(apitest.WithSHA))
		done <- w.Code
	}()
	<-block.entered
	w := h.Exchange(apitest.Post(apitest.WithSHA))
	if got := apitest.Decode[httpapi.Problem](t, w); w.Code != 503 || got.FailureCode != "overloaded" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s, want 503 with Retry-After", w.Code, w.Body)
	}
	close(block.leave)
	if code := <-done; code != 200 {
		t.Errorf("the request before: %d, want 200", code)
	}
	if w := h.Exchange(apitest.Post(`{`)); w.Code != 400 {
		t.Errorf("the request afterwards: %d, want to get in", w.Code)
	}
}

// TestNoSlotWithoutAKey: an answer that its client never reads would occupy the slot.
func TestNoSlotWithoutAKey(t *testing.T) {
	block := &blocking{entered: make(chan struct{}), leave: make(chan struct{})}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Triggers: block, Limits: func(l *limits.Limits) { l.InFlight = 1 }})
	cases := map[string]struct {
		request *http.Request
		status  int
	}{
		"openapi.yaml":    {httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil), 200},
		"the public keys": {httptest.NewRequest(http.MethodGet, "/.well-known/postflight/attestation-keys.pem", nil), 404},
		"a wrong key":     {apitest.Post(apitest.WithSHA, apitest.Header("Authorization", "Bearer x")), 401},
		"no such path":    {apitest.Post(apitest.WithSHA, apitest.Path("/nowhere")), 404},
		"another method":  {apitest.Post(apitest.WithSHA, apitest.Method("DELETE")), 405},
	}
	go h.ServeHTTP(httptest.NewRecorder(), apitest.Post(apitest.WithSHA))
	<-block.entered
	defer close(block.leave)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w := h.Exchange(tc.request); w.Code != tc.status {
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
	otherKey := apitest.APIKey("pf_other_and_long")
	otherKey.Namespace = "other"
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Team("other"), otherKey),
		Limits: func(l *limits.Limits) { l.InFlight = 10 }})
	reading, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	turnedAway := 0
	for range 11 {
		done := make(chan struct{})
		go func() {
			body := &apitest.Stalled{Reading: reading, Release: release, Reader: strings.NewReader(apitest.WithSHA)}
			h.ServeHTTP(httptest.NewRecorder(), apitest.Post(apitest.WithSHA, func(r *http.Request) { r.Body = io.NopCloser(body) }))
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
	if w := h.Exchange(apitest.Post(apitest.WithSHA, apitest.Header("Authorization", "Bearer pf_other_and_long"))); w.Code != http.StatusOK {
		t.Errorf("another team is answered %d: %s", w.Code, w.Body)
	}
}

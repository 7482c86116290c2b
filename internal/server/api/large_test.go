package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// largeBody is a notification beyond SmallBodyBytes.
var largeBody = member("x", text(20<<10))

// stalled is a body that blocks until it is released.
type stalled struct {
	reading, release chan struct{}
	io.Reader
}

func (s *stalled) Read(p []byte) (int, error) {
	select {
	case s.reading <- struct{}{}:
	case <-s.release:
	}
	<-s.release
	return s.Reader.Read(p)
}

// TestLargeRequestsAreFew: only requests that need much memory are rejected if there are too many of them.
func TestLargeRequestsAreFew(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), limits: func(l *Limits) { l.Large = 1 }})
	body := &stalled{reading: make(chan struct{}), release: make(chan struct{}), Reader: strings.NewReader(largeBody)}
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, post(largeBody, func(r *http.Request) { r.Body = io.NopCloser(body) }))
		done <- w.Code
	}()
	<-body.reading
	cases := map[string]struct {
		request *http.Request
		status  int
	}{
		"large":             {post(largeBody), 503},
		"of unknown length": {post(`{}`, func(r *http.Request) { r.ContentLength = -1 }), 503},
		"a dry run":         {post(`{}`, query("dryRun=true")), 503},
		"too large":         {post(member("x", text(300<<10))), 413},
		"small":             {post(`{}`), 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := h.exchange(tc.request)
			overloaded := strings.Contains(w.Body.String(), `"overloaded"`) && w.Header().Get("Retry-After") != ""
			if w.Code != tc.status || overloaded != (tc.status == 503) {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.status)
			}
		})
	}
	close(body.release)
	if code := <-done; code != 200 {
		t.Errorf("the request before: %d, want 200", code)
	}
	if w := h.exchange(post(largeBody)); w.Code != 200 || h.large.InUse() != 0 || h.inFlight.InUse() != 0 {
		t.Errorf("the request afterwards: %d, want to get in; %d large and %d in flight are left behind", w.Code, h.large.InUse(), h.inFlight.InUse())
	}
}

// TestBodyIsReadOnce: a body is read into memory of its size, because a buffer that grows takes several times that.
func TestBodyIsReadOnce(t *testing.T) {
	h := start(t, setup{})
	body, err := h.readBody(httptest.NewRecorder(), &Request{Request: post(largeBody)}, h.Limits.BodyBytes)
	if err != nil || string(body) != largeBody || cap(body) != len(body) {
		t.Errorf("%d bytes in %d, %v; want %d in as many", len(body), cap(body), err, len(largeBody))
	}
}

// TestDryRunIsWrittenBitByBit: otherwise, all explanations of a large team would be in memory while the client reads.
func TestDryRunIsWrittenBitByBit(t *testing.T) {
	objects := acme()
	for i := range 500 {
		objects = append(objects, trigger(fmt.Sprintf("t%03d", i), func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/**"} }))
	}
	h := start(t, setup{objects: objects})
	w := &measured{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, post(withSHA, query("dryRun=true")))
	if got := decode[explainedReply](t, w.ResponseRecorder); len(got.Explanations) != 500 || w.largest > 1<<10 {
		t.Errorf("%d explanations, and %d bytes at once; want 500, and less than 1 KiB", len(got.Explanations), w.largest)
	}
}

// measured records the most that was written at once.
type measured struct {
	*httptest.ResponseRecorder
	largest int
}

func (m *measured) Write(b []byte) (int, error) {
	m.largest = max(m.largest, len(b))
	return m.ResponseRecorder.Write(b)
}

func TestDryRunWithoutTriggers(t *testing.T) {
	h := start(t, setup{objects: acme()})
	if w := h.exchange(post(withSHA, query("dryRun=true"))); strings.TrimSpace(w.Body.String()) != `{"results":[],"dryRun":true,"explanations":[]}` {
		t.Errorf("got %s", w.Body)
	}
}

package notifications_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
)

// largeBody is a notification beyond SmallBodyBytes.
var largeBody = apitest.Member("x", apitest.Text(20<<10))

// TestLargeRequestsAreFew: only requests that need much memory are rejected if there are too many of them.
func TestLargeRequestsAreFew(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke")), Limits: func(l *limits.Limits) { l.Large = 1 }})
	body := &apitest.Stalled{Reading: make(chan struct{}), Release: make(chan struct{}), Reader: strings.NewReader(largeBody)}
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, apitest.Post(largeBody, func(r *http.Request) { r.Body = io.NopCloser(body) }))
		done <- w.Code
	}()
	<-body.Reading
	cases := map[string]struct {
		request *http.Request
		status  int
	}{
		"large":             {apitest.Post(largeBody), 503},
		"of unknown length": {apitest.Post(`{}`, func(r *http.Request) { r.ContentLength = -1 }), 503},
		"a dry run":         {apitest.Post(`{}`, apitest.Query("dryRun=true")), 503},
		"too large":         {apitest.Post(apitest.Member("x", apitest.Text(300<<10))), 413},
		"small":             {apitest.Post(`{}`), 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := h.Exchange(tc.request)
			overloaded := strings.Contains(w.Body.String(), `"overloaded"`) && w.Header().Get("Retry-After") != ""
			if w.Code != tc.status || overloaded != (tc.status == 503) {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.status)
			}
		})
	}
	close(body.Release)
	if code := <-done; code != 200 {
		t.Errorf("the request before: %d, want 200", code)
	}
	if w := h.Exchange(apitest.Post(largeBody)); w.Code != 200 || h.Server.Large.InUse() != 0 || h.Server.InFlight.InUse() != 0 {
		t.Errorf("the request afterwards: %d, want to get in; %d large and %d in flight are left behind", w.Code, h.Server.Large.InUse(),
			h.Server.InFlight.InUse())
	}
}

// TestBodyIsReadOnce: a body is read into memory of its size, because a buffer that grows takes several times that.
func TestBodyIsReadOnce(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{})
	body, err := h.Server.ReadBody(httptest.NewRecorder(), &exchange.Request{Request: apitest.Post(largeBody)}, h.Limits.BodyBytes)
	if err != nil || string(body) != largeBody || cap(body) != len(body) {
		t.Errorf("%d bytes in %d, %v; want %d in as many", len(body), cap(body), err, len(largeBody))
	}
}

// TestDryRunIsWrittenBitByBit: otherwise, all explanations of a large team would be in memory while the client reads.
func TestDryRunIsWrittenBitByBit(t *testing.T) {
	objects := apitest.Acme()
	for i := range 500 {
		objects = append(objects,
			apitest.Trigger(fmt.Sprintf("t%03d", i), func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/**"} }))
	}
	h := apitest.Start(t, apitest.Setup{Objects: objects})
	w := &measured{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, apitest.Post(apitest.WithSHA, apitest.Query("dryRun=true")))
	if got := apitest.Decode[explainedReply](t, w.ResponseRecorder); len(got.Explanations) != 500 || w.largest > 1<<10 {
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
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	if w := h.Exchange(apitest.Post(apitest.WithSHA,
		apitest.Query("dryRun=true"))); strings.TrimSpace(w.Body.String()) != `{"results":[],"dryRun":true,"explanations":[]}` {
		t.Errorf("got %s", w.Body)
	}
}

package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/client"
)

// aProxy stands before a server whose run goes on for a while.
type aProxy struct {
	timeout time.Duration // after which it ends a request
	answer  int           // with this status; 0 cuts the connection
	refuses bool          // does not even connect
	run     time.Duration // until the run ends

	began time.Time
	waits []string
}

func (p *aProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := r.URL.Query().Get("wait")
	p.waits = append(p.waits, wait)
	if p.refuses {
		time.Sleep(p.timeout)
		return nil, syscall.EHOSTUNREACH
	}
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	held, _ := time.ParseDuration(wait + "s")
	held = min(held, max(0, p.run-time.Since(p.began)))
	time.Sleep(min(held, p.timeout))
	switch {
	case held < p.timeout && time.Since(p.began) >= p.run:
		return respond(r, http.StatusOK, "application/json", `{"runStage":"completed","greenlight":true}`), nil
	case held < p.timeout:
		return respond(r, http.StatusOK, "application/json", `{"runStage":"initializing"}`), nil
	case p.answer == 0:
		return nil, syscall.ECONNRESET
	default:
		return respond(r, p.answer, "text/html", "<html>"), nil
	}
}

func respond(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{Request: r, StatusCode: status, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(strings.NewReader(body))}
}

func TestAwaitBehindProxies(t *testing.T) {
	cases := map[string]struct {
		reason string
		proxy  aProxy
		waits  []string // the first ones
		most   int      // requests; 0 for any number
		status int      // of the error; -1 for none
	}{
		"patient": {proxy: aProxy{timeout: time.Minute, run: 2 * time.Minute}, waits: []string{"55", "55", "55"}, most: 3, status: -1},
		"30 seconds, 504": {reason: "later waits are as short", proxy: aProxy{timeout: 30 * time.Second, answer: 504, run: 10 * time.Minute},
			waits: []string{"55", "27", "27", "27"}, most: 24, status: -1},
		"20 seconds, 502": {proxy: aProxy{timeout: 20 * time.Second, answer: 502, run: 10 * time.Minute},
			waits: []string{"55", "27", "13", "13"}, status: -1},
		"30 seconds, 503": {proxy: aProxy{timeout: 30 * time.Second, answer: 503, run: 10 * time.Minute},
			waits: []string{"55", "27", "27"}, status: -1},
		"12 seconds, cut": {proxy: aProxy{timeout: 12 * time.Second, run: 10 * time.Minute},
			waits: []string{"55", "27", "13", "10", "10"}, status: -1},
		"8 seconds": {reason: "there is an end to it", proxy: aProxy{timeout: 8 * time.Second, answer: 504, run: time.Hour},
			waits: []string{"55", "27", "13", "10", "10"}, status: 504},
		"answers nothing at all": {reason: "it is down, and did not hold the request",
			proxy: aProxy{timeout: time.Second, answer: 504, run: time.Hour}, waits: []string{"55", "55", "55"}, status: 504},
		"connections are refused": {reason: "it did not hold the request", proxy: aProxy{timeout: 30 * time.Second, refuses: true},
			waits: []string{"55", "55", "55"}, status: 0},
		"an answer that is no time-out": {proxy: aProxy{timeout: 30 * time.Second, answer: 404, run: time.Hour}, waits: []string{"55"}, most: 1,
			status: 404},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.proxy.began = time.Now()
				c := connect(t, "http://x", client.WithHTTPClient(&http.Client{Transport: &tc.proxy}))
				_, err := c.Await(t.Context(), "smoke-1")
				failed := &client.Error{Status: -1}
				if known := errors.As(err, &failed); failed.Status != tc.status || known != (err != nil) {
					t.Errorf("%s: %v, want status %d", tc.reason, err, tc.status)
				}
				if diff := cmp.Diff(tc.waits, tc.proxy.waits[:min(len(tc.waits), len(tc.proxy.waits))]); diff != "" {
					t.Errorf("%s: the first waits (-want +got):\n%s", tc.reason, diff)
				}
				if n := len(tc.proxy.waits); tc.most > 0 && n > tc.most {
					t.Errorf("%s: %d requests, want %d at most", tc.reason, n, tc.most)
				}
			})
		})
	}
}

// TestLinks: a server without --public-url answers with paths.
func TestLinks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w,
			`{"runStage":"completed","rootRunUrl":"/runs/acme/a","relevantRunUrl":"https://elsewhere.example.com/runs/acme/a"}`)
	}))
	defer server.Close()
	c, err := client.New(server.URL+"/", "key")
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Greenlight(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{server.URL + "/runs/acme/a", "https://elsewhere.example.com/runs/acme/a"},
		[]string{got.RootRunURL, got.RelevantRunURL}); diff != "" {
		t.Error(diff)
	}
}

package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/webhook"
	"github.com/postflight-dev/postflight/test/poll"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func sender() *webhook.Sender {
	return webhook.New(outbound.Public([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}))
}

func aMessage(url string) announce.Message {
	return announce.Message{
		Target: announce.Target{URL: url, Keys: [][]byte{[]byte(strings.Repeat("k", 32))}}, ID: "u1-queued", At: now,
		ContentType: "application/cloudevents+json", Body: []byte(`{"a":"b"}`),
	}
}

func failureOf(t *testing.T, m announce.Message) *announce.Failure {
	t.Helper()
	err := sender().Send(t.Context(), m)
	if err == nil {
		return nil
	}
	failure := (*announce.Failure)(nil)
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, which is no Failure", err)
	}
	return failure
}

func TestRequest(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, name := range []string{"Content-Type", "User-Agent", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			got = append(got, r.Header.Get(name))
		}
		got = append(got, r.Method, r.RequestURI, string(body))
	}))
	defer server.Close()
	m := aMessage(server.URL + "/x?token=s3cret")
	if failure := failureOf(t, m); failure != nil {
		t.Fatal(failure)
	}
	m.Keys, m.Chat = nil, true
	if failure := failureOf(t, m); failure != nil {
		t.Fatal(failure)
	}
	request := []string{"POST", "/x?token=s3cret", `{"a":"b"}`}
	agent := version.UserAgent("postflight")
	want := append([]string{"application/cloudevents+json", agent, "u1-queued", "1795176000", aMessage("").Signature()}, request...)
	want = append(want, append([]string{"application/cloudevents+json", agent, "", "", ""}, request...)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		status  int
		header  string // Retry-After
		body    string
		chat    bool
		kind    report.Kind
		message string // empty: accepted
		wait    time.Duration
		gone    bool
	}{
		"accepted":              {status: 204},
		"accepted, with a text": {status: 200, body: "ok", chat: true},
		"fails":                 {status: 500, body: "s3cret", kind: report.Unavailable, message: "It failed (500)."},
		"fails, and says when":  {status: 503, header: "7", kind: report.Limited, message: "It asks to send less.", wait: 7 * time.Second},
		"is slow":               {status: 408, kind: report.Unavailable, message: "It failed (408)."},
		"asks to wait":          {status: 429, header: "120", kind: report.Limited, message: "It asks to send less.", wait: 2 * time.Minute},
		"asks to wait until": {status: 429, header: now.Add(90 * time.Second).Format(http.TimeFormat), kind: report.Limited,
			message: "It asks to send less.", wait: 90 * time.Second},
		"asks to wait for ever": {status: 429, header: "99999999999999", kind: report.Limited, message: "It asks to send less."},
		"asks to wait for long": {status: 429, header: "999999", kind: report.Limited, message: "It asks to send less.", wait: time.Hour},
		"asks for the past": {status: 429, header: now.Add(-time.Hour).Format(http.TimeFormat), kind: report.Limited,
			message: "It asks to send less."},
		"asks for nonsense": {status: 429, header: "-1", kind: report.Limited, message: "It asks to send less."},
		"is gone":           {status: 410, kind: report.Rejected, message: "It answered 410 Gone.", gone: true},
		"redirects": {status: 302, kind: report.Rejected,
			message: "It answered with a redirect (302), which is not followed. Configure the address that it leads to."},
		"refuses": {status: 401, body: "s3cret", kind: report.Rejected, message: "It did not accept the message (401)."},
		"a chat says why": {status: 404, body: "channel_is_archived\n", chat: true, kind: report.Rejected,
			message: "It did not accept the message (404 channel_is_archived)."},
		"a chat says too much": {status: 404, body: "no such hook: /s3cret", chat: true, kind: report.Rejected,
			message: "It did not accept the message (404)."},
		"a chat does not end": {status: 404, body: strings.Repeat("a", 1<<20), chat: true, kind: report.Rejected,
			message: "It did not accept the message (404)."},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if tc.header != "" {
					w.Header().Set("Retry-After", tc.header)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer server.Close()
			m := aMessage(server.URL)
			m.Chat = tc.chat
			var want *announce.Failure
			if tc.message != "" {
				want = &announce.Failure{Why: report.Error{Kind: tc.kind, Message: tc.message, RetryAfter: tc.wait}, Gone: tc.gone}
			}
			if diff := cmp.Diff(want, failureOf(t, m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// TestNothingRevealsTheAddress: the address of a chat is a secret, also in the log.
func TestNothingRevealsTheAddress(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	end := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	defer hangs.Close()
	defer close(end)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_, _ = io.WriteString(conn, "s3cret\r\n\r\n")
		conn.Close()
	}))
	defer broken.Close()
	for name, tc := range map[string]struct{ url, want string }{
		"nobody listens": {closed.URL + "/s3cret", "It cannot be reached."},
		"it hangs":       {hangs.URL + "/s3cret", "It does not answer."},
		"no HTTP":        {broken.URL + "/x", "It cannot be reached."},
		"no such name":   {"https://postflight.invalid/s3cret", "It cannot be reached."},
		"not a URL":      {"https://exa mple.com/s3cret", "It cannot be reached."},
		"private": {"https://10.0.0.1/s3cret",
			"Its address is in a private network, or is not https. Your operator can allow networks with --webhook-allow-networks."},
		"plain http": {"http://192.88.98.1/s3cret",
			"Its address is in a private network, or is not https. Your operator can allow networks with --webhook-allow-networks."},
	} {
		t.Run(name, func(t *testing.T) {
			limit := poll.Limit
			if name == "it hangs" {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			failure := (*announce.Failure)(nil)
			if err := sender().Send(ctx, aMessage(tc.url)); !errors.As(err, &failure) || failure.Error() != tc.want {
				t.Fatalf("got %v", err)
			}
			if text := fmt.Sprintf("%v %+v", failure, failure.Why); strings.Contains(text, "/s3cret") {
				t.Errorf("%s reveals the address", text)
			}
		})
	}
}

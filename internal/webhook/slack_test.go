package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/webhook"
)

// TestSlackAnswers: whatever answers, the failure is a sentence without the token, and says whether the message may have been sent.
func TestSlackAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		status  int
		body    string
		ts      string
		failure string
	}{
		"accepted":               {200, `{"ok":true,"ts":"1.2"}`, "1.2", ""},
		"without a timestamp":    {200, `{"ok":true}`, "", "It cannot be reached."},
		"with a hostile one":     {200, `{"ok":true,"ts":"1.2\n<!channel>"}`, "", "It cannot be reached."},
		"no JSON":                {200, `<html>`, "", "It cannot be reached."},
		"without an end":         {200, `{"ok":true,"ts":"` + strings.Repeat("1", 3<<20), "", "It cannot be reached."},
		"refused":                {200, `{"ok":false,"error":"not_in_channel"}`, "", "not in the channel"},
		"refused in other words": {200, `{"ok":false,"error":"<b>xoxb-secret</b>"}`, "", "Slack did not accept the message."},
		"revoked":                {200, `{"ok":false,"error":"token_revoked"}`, "", "Put a new one into the Secret (token_revoked)."},
		"too many":               {429, ``, "", "It asks to send less."},
		"a redirect":             {302, ``, "", "redirect (302), which is not followed"},
		"down":                   {503, ``, "", "It failed (503)."},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer xoxb-secret" {
					t.Errorf("it called %s", r.URL)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			ts, err := slackAt(server.URL).Send(context.Background(), aSlackMessage())
			if tc.failure == "" {
				if err != nil || ts != tc.ts {
					t.Errorf("got %q and %v", ts, err)
				}
				return
			}
			failure := (*announce.Failure)(nil)
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), tc.failure) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, tc.failure)
			}
		})
	}
}

// TestSlackIsSearchedByPages: the search ends, also if the channel never does.
func TestSlackIsSearchedByPages(t *testing.T) {
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pages++; pages > 1 && r.URL.Query().Get("cursor") != "next" {
			t.Errorf("page %d is asked for by %s", pages, r.URL.RawQuery)
		}
		_, _ = w.Write([]byte(`{"ok":true,"messages":[{"ts":"9.9","metadata":{"event_type":"postflight_thread","event_payload":{"thread":"other"}}}],` +
			`"response_metadata":{"next_cursor":"next"}}`))
	}))
	defer server.Close()
	ts, err := slackAt(server.URL).Find(context.Background(), announce.Search{Channel: "C0", Marker: announce.ThreadMarker{Thread: "mine"}}, time.Now())
	if ts != "" || err != nil || pages != 5 {
		t.Errorf("got %q and %v after %d pages", ts, err, pages)
	}
}

func TestSlackIsPublic(t *testing.T) {
	_, err := webhook.NewSlack(outbound.Public(nil), "https://127.0.0.1:9/api/").Send(context.Background(), aSlackMessage())
	if err == nil || !strings.Contains(err.Error(), "private network") {
		t.Errorf("got %v", err)
	}
}

func aSlackMessage() announce.Message {
	return announce.Message{Target: announce.Target{Token: "xoxb-secret"}, Method: announce.PostMessage, Body: []byte("{}"), ContentType: "application/json"}
}

func slackAt(address string) *webhook.Slack {
	return webhook.NewSlack(outbound.Public([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), address+"/api/")
}

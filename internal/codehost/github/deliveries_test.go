package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/codehost/github"
	events "github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
)

func hook(url string) *github.Hook {
	return &github.Hook{
		Host: github.New(url, outbound.New()), Credentials: func() (report.Credentials, error) { return app(), nil },
	}
}

// TestDeliveries: pages are read until an attempt is too old, as the App itself.
func TestDeliveries(t *testing.T) {
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var asked []string
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		if strings.Count(r.Header.Get("Authorization"), ".") != 2 {
			t.Errorf("%s: not as the App", r.URL)
		}
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, "{}")
		case r.URL.Query().Get("cursor") == "":
			w.Header().Set("Link", fmt.Sprintf(`<http://%s/app/hook/deliveries?per_page=100&cursor=v1_2>; rel="next"`, r.Host))
			fmt.Fprint(w, `[{"id":30,"guid":"c","delivered_at":"2026-11-20T12:30:00Z","event":"deployment_status","status":"OK","status_code":200},
				{"id":20,"guid":"b","delivered_at":"2026-11-20T12:20:00Z","event":"check_run","status":"timed out","status_code":0,"redelivery":true}]`)
		default:
			w.Header().Set("Link", fmt.Sprintf(`<http://%s/app/hook/deliveries?per_page=100&cursor=v1_3>; rel="next"`, r.Host))
			fmt.Fprint(w, `[{"id":10,"guid":"a","delivered_at":"2026-11-20T12:00:00Z","event":"push",
				"status":"Service Unavailable","status_code":503},
				{"id":9,"guid":"z","delivered_at":"2026-11-20T11:59:59Z","event":"push","status":"OK","status_code":200}]`)
		}
	}))
	defer host.Close()
	h := hook(host.URL)
	got, err := h.Deliveries(t.Context(), since)
	want := []events.Attempt{
		{ID: 30, GUID: "c", Event: "deployment_status", Code: 200, At: since.Add(30 * time.Minute)},
		{ID: 20, GUID: "b", Event: "check_run", At: since.Add(20 * time.Minute)},
		{ID: 10, GUID: "a", Event: "push", Code: 503, At: since},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := h.Redeliver(t.Context(), 20); err != nil {
		t.Error(err)
	}
	wantAsked := []string{"GET /app/hook/deliveries?per_page=100", "GET /app/hook/deliveries?cursor=v1_2&per_page=100",
		"POST /app/hook/deliveries/20/attempts"}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRefusedRedelivery: only a rate limit concerns the other deliveries.
func TestRefusedRedelivery(t *testing.T) {
	for name, tc := range map[string]struct {
		status  int
		header  string
		body    string
		limited bool
	}{
		"too old":             {http.StatusUnprocessableEntity, "", `{"message":"The delivery is too old."}`, false},
		"unknown":             {http.StatusNotFound, "", `{"message":"Not Found"}`, false},
		"the limit":           {http.StatusForbidden, "X-RateLimit-Remaining", `{"message":"API rate limit exceeded"}`, true},
		"the secondary limit": {http.StatusForbidden, "", `{"documentation_url":"https://docs.github.com/rest#secondary-rate-limits"}`, true},
		"a limit of a proxy":  {http.StatusTooManyRequests, "", `{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.header != "" {
					w.Header().Set(tc.header, "0")
				}
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			}))
			defer host.Close()
			err := hook(host.URL).Redeliver(t.Context(), 20)
			if err == nil || errors.Is(err, events.ErrRateLimit) != tc.limited {
				t.Errorf("got %v", err)
			}
		})
	}
}

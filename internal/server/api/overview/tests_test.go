package overview_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/server/api"
	usecase "github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/apitest"
)

// pastTests are the summary of today: a test that failed in the second of two runs.
type pastTests struct {
	day     history.Day
	content []byte
	err     error
}

func newPastTests() *pastTests {
	place := httpapi.Place{Namespace: apitest.Namespace, Trigger: "smoke", Environment: "staging"}
	var runs []history.Run
	for i, id := range []string{"smoke-1", "smoke-2"} {
		at := apitest.Noon.Truncate(24 * time.Hour).Add(time.Duration(i) * time.Hour)
		runs = append(runs, history.Run{ID: id, Place: place, CreatedAt: at.Format(time.RFC3339), State: "Passed", Listed: true,
			SHA: strings.Repeat(id[6:], 40)})
	}
	b, _ := history.NewPlaceBuilder(place, runs)
	for i, state := range []string{httpapi.TestPassed, httpapi.TestFailed} {
		b.Begin(runs[i].ID)
		b.Add(httpapi.Test{Name: "cart > keeps items", State: state, Message: "expected 200"})
	}
	summary, content := b.Finish()
	return &pastTests{day: history.NewDay(apitest.Namespace, apitest.Noon.Format(time.DateOnly), runs, []history.PlaceDay{summary}),
		content: content}
}

func (p *pastTests) OpenDay(_ context.Context, team, day string) (io.ReadCloser, int64, error) {
	if p.err == nil && (team != apitest.Namespace || day != p.day.Day) {
		return nil, 0, fs.ErrNotExist
	}
	content := p.day.Encode()
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), p.err
}

func (p *pastTests) TestOn(_ context.Context, _, _ string, in *history.PlaceDay, name string) (history.TestDay, bool, error) {
	return in.FindTest(bytes.NewReader(p.content), name)
}

func (p *pastTests) TestsOn(_ context.Context, _, _ string, in *history.PlaceDay, text string, each func(history.TestDay)) error {
	return in.ReadTests(bytes.NewReader(p.content), text, each)
}

func TestTests(t *testing.T) {
	p := newPastTests()
	clock := &apitest.FakeClock{Time: apitest.Noon}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) {
		c.Tests = usecase.NewReader(p, clock, time.Minute)
		c.PublicURL = "https://postflight.example.com/base"
	}})
	name := url.QueryEscape("cart > keeps items")
	for path, want := range map[string]string{
		"/api/v0/tests": "200", "/api/v0/tests?search=CART&days=7&limit=1": "200", "/api/v0/insights?days=90": "200",
		"/api/v0/insights?trigger=other":     "200",
		"/api/v0/tests/history?name=" + name: "200", "/api/v0/tests/history?days=1&environment=staging&name=" + name: "200",
		"/api/v0/tests/history?name=cart":                           "404 test_not_found",
		"/api/v0/tests/history?environment=production&name=" + name: "404 test_not_found",
		"/api/v0/tests/history":                                     "400 invalid_request", "/api/v0/tests/history?name=" + strings.Repeat("x", 513): "400 invalid_request",
		"/api/v0/tests?days=0": "400 invalid_request", "/api/v0/tests?days=91": "400 invalid_request",
		"/api/v0/tests?limit=101": "400 invalid_request",
		"/api/v0/tests?cursor=x":  "400 invalid_request", "/api/v0/tests?branch=main": "400 invalid_request",
		"/api/v0/insights?limit=3": "400 invalid_request",
	} {
		w := h.Exchange(apitest.Get(path))
		got := http.StatusText(w.Code)
		if w.Code != http.StatusOK {
			got = apitest.Decode[httpapi.Problem](t, w).FailureCode
		}
		if code, failureCode, _ := strings.Cut(want, " "); code != "200" && got != failureCode || code == "200" && w.Code != http.StatusOK {
			t.Errorf("%s: %d %s, want %s", path, w.Code, got, want)
		}
	}
	test := apitest.Decode[httpapi.TestHistory](t, h.Exchange(apitest.Get("/api/v0/tests/history?name="+name)))
	if failing := test.Places[0].Failing; failing == nil || failing.First.URL != "https://postflight.example.com/base/runs/acme/smoke-2" ||
		failing.Before.URL != "https://postflight.example.com/base/runs/acme/smoke-1" {
		t.Errorf("%+v", test.Places[0])
	}
	p.err = errors.New("it refuses connections")
	if w := h.Exchange(apitest.Get("/api/v0/tests")); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), "the store: it refuses connections. Ask again") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestTestsWithoutAStore says what to configure.
func TestTestsWithoutAStore(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	for _, path := range []string{"/api/v0/tests", "/api/v0/tests/history?name=a", "/api/v0/insights"} {
		if w := h.Exchange(apitest.Get(path)); w.Code != http.StatusServiceUnavailable ||
			apitest.Decode[httpapi.Problem](t, w).FailureCode != "store_not_configured" {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

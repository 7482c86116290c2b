package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
)

func TestVerdict(t *testing.T) {
	v := httpapi.Verdict{State: "none", Sentence: "1 of 1 required Trigger has no result.", Advice: "Wait.", Team: "acme", Environment: "staging",
		SHA: "5ca1ab1e", URL: "/environments/acme/staging/commits/5ca1ab1e", CheckedAt: tuesday,
		Requirements: []httpapi.Required{{Trigger: "smoke", State: "none", Message: "It was canceled.", Run: "smoke-1", URL: "/runs/acme/smoke-1"}}}
	var asked []string
	url := serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		if r.Method == http.MethodPost {
			answer(w, http.StatusOK, httpapi.StartedVerdict{Verdict: v, Started: []httpapi.StartedRun{{Trigger: "smoke", Run: "smoke-2", URL: "/runs/acme/smoke-2"}}})
			return
		}
		answer(w, http.StatusOK, v)
	})
	c := connect(t, url)
	q := client.VerdictQuery{SHA: "5ca1ab1e", Environment: "staging", Repository: "acme/shop", Service: "cart", MaxAge: 90 * time.Minute}
	got, err := c.Verdict(t.Context(), q, 30*time.Second)
	if err != nil || got.URL != url+v.URL || got.Requirements[0].URL != url+"/runs/acme/smoke-1" || got.State != "none" {
		t.Errorf("%v %+v", err, got)
	}
	if _, err := c.Verdict(t.Context(), client.VerdictQuery{SHA: "v1.2", Environment: "staging"}, 0); err != nil {
		t.Error(err)
	}
	started, err := c.RunVerdict(t.Context(), q)
	if err != nil || started.URL != url+v.URL || started.Started[0].URL != url+"/runs/acme/smoke-2" {
		t.Errorf("%v %+v", err, started)
	}
	const query = "environment=staging&maxAge=1h30m0s&repository=acme%2Fshop&service=cart&sha=5ca1ab1e"
	want := []string{"GET /api/v0/verdict?" + query + "&wait=30", "GET /api/v0/verdict?environment=staging&sha=v1.2", "POST /api/v0/verdict?" + query}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

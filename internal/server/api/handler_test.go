package api

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// TestGoodHeaders are requests that look odd and are fine.
func TestGoodHeaders(t *testing.T) {
	auth := func(values ...string) func(*http.Request) { return header("Authorization", values...) }
	cases := map[string]func(*http.Request){
		"scheme in lower case":        auth("bearer " + goodKey),
		"scheme in upper case":        auth("BEARER " + goodKey),
		"white space around":          auth(" \tBearer " + goodKey + "\t "),
		"white space between":         auth("Bearer \t  " + goodKey),
		"a charset":                   header("Content-Type", "application/json; charset=utf-8"),
		"Content-Type in other case":  header("Content-Type", "Application/JSON"),
		"no encoding":                 header("Content-Encoding", "identity"),
		"two slashes":                 path("//api/webhooks/deploy_success"),
		"slashes everywhere":          path("///api//webhooks//deploy_success/"),
		"dryRun=false":                query("dryRun=false"),
		"a parameter of another tool": query("utm_source=ci"),
		"an Idempotency-Key":          header("Idempotency-Key", strings.Repeat("~", 255)),
		"X-Dry-Run: false":            header("X-Dry-Run", "false"),
		"a key in the query as well":  query("access_token=no"),
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke"))})
			if got := h.notify(`{}`, change); got.Results[0].CreatedSuiteID == "" {
				t.Errorf("%+v, want a created run", got)
			}
		})
	}
}

func TestLargestBody(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	body := member("x", text(256<<10-8))
	if len(body) != 256<<10 {
		t.Fatalf("%d bytes, want 256 KiB", len(body))
	}
	h.notify(body)
}

func TestAllow(t *testing.T) {
	h := start(t, setup{})
	cases := map[string]string{deploySuccessPath: "POST", "/openapi.yaml": "GET"}
	for path, want := range cases {
		for _, m := range []string{"HEAD", "OPTIONS", "TRACE", "X"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(m, path, nil))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != want {
				t.Errorf("%s %s: %d, Allow %q, want 405, %q", m, path, w.Code, w.Header().Get("Allow"), want)
			}
		}
	}
}

func TestChallenge(t *testing.T) {
	h := start(t, setup{})
	if got := h.exchange(post(`{}`)).Header().Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate %q, want Bearer", got)
	}
}

// TestEveryUnknownKeyHasTheSameAnswer: the answers differ in the id of the request only.
func TestEveryUnknownKeyHasTheSameAnswer(t *testing.T) {
	elsewhere := apiKey("pf_elsewhere_and_long")
	elsewhere.Spec.NamesNamespace = true
	h := start(t, setup{objects: acme(elsewhere)})
	answers := map[string]bool{}
	for _, key := range []string{"", "x", "Bearer", "Bearer x", "Bearer pf_unknown_and_long", "Bearer pf_elsewhere_and_long"} {
		w := h.exchange(post(`{}`, header("Authorization", key), header("X-Request-Id", "one")))
		answers[w.Result().Status+w.Body.String()] = true
	}
	if len(answers) != 1 {
		t.Errorf("%d different answers, want 1: %v", len(answers), answers)
	}
}

// TestRefusedKeySaysWhy: someone who has a key learns what to do about it.
func TestRefusedKeySaysWhy(t *testing.T) {
	expired := apiKey("pf_expired_and_long")
	expired.Spec.ExpiresAt = &metav1.Time{Time: noon.Add(-3 * time.Minute)}
	w := start(t, setup{objects: acme(expired)}).exchange(post(`{}`, header("Authorization", "Bearer pf_expired_and_long")))
	if got := decode[problem](t, w); w.Code != http.StatusUnauthorized || got.FailureCode != "unauthenticated" ||
		got.FailureMessage != `The API key expired 3 minutes ago. Create another one with "postflight keys create", and send that.` {
		t.Errorf("%d: %+v", w.Code, got)
	}
}

func TestRequestID(t *testing.T) {
	h := start(t, setup{})
	cases := map[string]struct {
		sent []string
		kept bool
	}{
		"none":            {nil, false},
		"a good one":      {[]string{"3f1c.GitHub_run-42"}, true},
		"the longest":     {[]string{strings.Repeat("a", 128)}, true},
		"too long":        {[]string{strings.Repeat("a", 129)}, false},
		"two":             {[]string{"a", "b"}, false},
		"empty":           {[]string{""}, false},
		"a line break":    {[]string{"a\nb"}, false},
		"markup":          {[]string{"<script>"}, false},
		"a space":         {[]string{"a b"}, false},
		"not ASCII":       {[]string{"é"}, false},
		"a log injection": {[]string{`a","level":"error`}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := h.exchange(post(`{}`, header("X-Request-Id", tc.sent...)))
			got := w.Header().Get("X-Request-Id")
			if kept := len(tc.sent) > 0 && got == tc.sent[0]; kept != tc.kept || !validRequestID.MatchString(got) {
				t.Errorf("sent %q, got %q, want it kept: %v", tc.sent, got, tc.kept)
			}
			if decode[problem](t, w).EventID != got {
				t.Errorf("eventId and header differ: %s, %s", w.Body, got)
			}
		})
	}
}

// broken panics where Triggers are matched.
type broken struct{}

func (broken) Match(string, *notification.Notification, func() bool) ([]*v1alpha1.Trigger, error) {
	panic("a bug")
}

func (broken) Explain(string, *notification.Notification, func() bool) iter.Seq[match.Explanation] {
	panic("a bug")
}

func TestPanic(t *testing.T) {
	h := start(t, setup{objects: acme(), triggers: broken{}})
	w := h.exchange(post(withSHA))
	if got := decode[problem](t, w); w.Code != 500 || got.FailureCode != "internal_error" || strings.Contains(w.Body.String(), "a bug") {
		t.Errorf("%d %s, want 500 that keeps the bug to itself", w.Code, w.Body)
	}
	if log := h.log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "handler_test.go") {
		t.Errorf("the log does not say where: %s", log)
	}
	if n := h.inFlight.InUse(); n != 0 {
		t.Errorf("%d requests in flight after the answer", n)
	}
}

func TestAuditLine(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("a"), trigger("b"), trigger("c", inNowhere))})
	h.notify(`{"sha":"x"}`)
	h.audit.b.Reset()
	h.exchange(post(`{"sha":"x","branch":"main","variables":{"TOKEN":"hunter2"}}`, header("Authorization", "Bearer no")))
	if line := h.audit.String(); line != "" {
		t.Errorf("an unauthenticated request was audited: %s", line)
	}
	got := h.notify(`{"sha":"x","branch":"main","variables":{"TOKEN":"hunter2"}}`, header("X-Request-Id", "one"))
	line := h.audit.String()
	if strings.Count(line, "\n") != 1 || strings.Contains(line, "hunter2") || strings.Contains(line, goodKey) {
		t.Errorf("want one line without keys and variables: %s", line)
	}
	var entry map[string]any
	if err := json.Unmarshal([]byte(line), &entry); err != nil {
		t.Fatal(err)
	}
	delete(entry, "time")
	want := map[string]any{
		"level": "INFO", "msg": "request", "requestID": "one", "team": "acme", "key": "acme/pf-good-and-long", "method": "POST",
		"route": deploySuccessPath, "code": 200., "milliseconds": 0., "dryRun": false, "sha": "x", "branch": "main",
		"duplicate": 2., "failed": 1., "suites": []any{got.Results[0].DuplicateSuiteID, got.Results[1].DuplicateSuiteID},
	}
	if diff := cmp.Diff(want, entry); diff != "" {
		t.Error(diff)
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{Create: refuse(errRefused)}})
	for _, body := range []string{`{"variables":{"TOKEN":"hunter2"}}`, `{"variables":{"TOKEN":["hunter2"]}}`, `{"deployment_url":"https://u:hunter2@example.com"}`} {
		h.exchange(post(body))
	}
	if all := h.log.String() + h.audit.String(); strings.Contains(all, "hunter2") || strings.Contains(all, goodKey) {
		t.Errorf("a secret was logged: %s", all)
	}
}

func TestMetrics(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("a"), trigger("b", inNowhere))})
	h.notify(withSHA)
	h.notify(withSHA)
	h.notify(withSHA, query("dryRun=true"))
	h.exchange(post(`{`))
	h.exchange(post(`{}`, path("/nowhere/"+sha)))
	h.exchange(post(`{}`, method("DELETE")))
	want := `
# HELP postflight_http_requests_total HTTP requests by route and status code.
# TYPE postflight_http_requests_total counter
postflight_http_requests_total{code="200",route="/api/webhooks/deploy_success"} 3
postflight_http_requests_total{code="400",route="/api/webhooks/deploy_success"} 1
postflight_http_requests_total{code="404",route="other"} 1
postflight_http_requests_total{code="405",route="/api/webhooks/deploy_success"} 1
# HELP postflight_notifications_total Outcomes of notifications: one per matched Trigger, or no_match.
# TYPE postflight_notifications_total counter
postflight_notifications_total{decision="created"} 1
postflight_notifications_total{decision="duplicate"} 1
postflight_notifications_total{decision="failed"} 2
postflight_notifications_total{decision="gone"} 0
postflight_notifications_total{decision="no_match"} 0
postflight_notifications_total{decision="unknown"} 0
`
	if err := testutil.GatherAndCompare(h.registry, strings.NewReader(want), "postflight_http_requests_total", "postflight_notifications_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(h.metrics.seconds); n != 2 {
		t.Errorf("%d histograms of the time to answer, want one per route", n)
	}
}

// TestServerLimits are those that come before any handler, on a real connection.
func TestServerLimits(t *testing.T) {
	const short = 200 * time.Millisecond
	t.Run("headers of 100 KB", func(t *testing.T) { checkLargeHeader(t, limited(t, func(*Limits) {}).URL) })
	t.Run("a body that does not come", func(t *testing.T) {
		answer := raw(t, limited(t, func(l *Limits) { l.BodyTimeout = short }),
			"POST "+deploySuccessPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+goodKey+"\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
		if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, "body_timeout") || !strings.Contains(answer, "Connection: close") {
			t.Errorf("got %q, want 408 and a closed connection", answer)
		}
	})
	t.Run("headers that do not come", func(t *testing.T) {
		answer := raw(t, limited(t, func(l *Limits) { l.HeaderTimeout = short }), "POST "+deploySuccessPath+" HTTP/1.1\r\nHost")
		if strings.HasPrefix(answer, "HTTP/1.1 2") {
			t.Errorf("got %q, want a closed connection, at most with a complaint", answer)
		}
	})
}

// limited is a server with the limits of an API.
func limited(t *testing.T, limits func(*Limits)) *httptest.Server {
	t.Helper()
	h := start(t, setup{objects: acme(), limits: limits})
	server := httptest.NewUnstartedServer(h)
	h.Limits.Apply(server.Config, budget)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

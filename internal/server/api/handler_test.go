package api_test

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
)

// TestGoodHeaders are requests that look odd and are fine.
func TestGoodHeaders(t *testing.T) {
	auth := func(values ...string) func(*http.Request) { return apitest.Header("Authorization", values...) }
	cases := map[string]func(*http.Request){
		"scheme in lower case":        auth("bearer " + apitest.GoodKey),
		"scheme in upper case":        auth("BEARER " + apitest.GoodKey),
		"white space around":          auth(" \tBearer " + apitest.GoodKey + "\t "),
		"white space between":         auth("Bearer \t  " + apitest.GoodKey),
		"a charset":                   apitest.Header("Content-Type", "application/json; charset=utf-8"),
		"Content-Type in other case":  apitest.Header("Content-Type", "Application/JSON"),
		"no encoding":                 apitest.Header("Content-Encoding", "identity"),
		"two slashes":                 apitest.Path("//api/webhooks/deploy_success"),
		"slashes everywhere":          apitest.Path("///api//webhooks//deploy_success/"),
		"dryRun=false":                apitest.Query("dryRun=false"),
		"a parameter of another tool": apitest.Query("utm_source=ci"),
		"an Idempotency-Key":          apitest.Header("Idempotency-Key", strings.Repeat("~", 255)),
		"X-Dry-Run: false":            apitest.Header("X-Dry-Run", "false"),
		"a key in the query as well":  apitest.Query("access_token=no"),
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
			if got := h.Notify(`{}`, change); got.Results[0].CreatedSuiteID == "" {
				t.Errorf("%+v, want a created run", got)
			}
		})
	}
}

func TestLargestBody(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	body := apitest.Member("x", apitest.Text(256<<10-8))
	if len(body) != 256<<10 {
		t.Fatalf("%d bytes, want 256 KiB", len(body))
	}
	h.Notify(body)
}

func TestAllow(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{})
	cases := map[string]string{apitest.DeploySuccessPath: "POST", "/openapi.yaml": "GET"}
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
	h := apitest.Start(t, apitest.Setup{})
	if got := h.Exchange(apitest.Post(`{}`)).Header().Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate %q, want Bearer", got)
	}
}

// TestEveryUnknownKeyHasTheSameAnswer: the answers differ in the id of the request only.
func TestEveryUnknownKeyHasTheSameAnswer(t *testing.T) {
	elsewhere := apitest.APIKey("pf_elsewhere_and_long")
	elsewhere.Spec.NamesNamespace = true
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(elsewhere)})
	answers := map[string]bool{}
	for _, key := range []string{"", "x", "Bearer", "Bearer x", "Bearer pf_unknown_and_long", "Bearer pf_elsewhere_and_long"} {
		w := h.Exchange(apitest.Post(`{}`, apitest.Header("Authorization", key), apitest.Header("X-Request-Id", "one")))
		answers[w.Result().Status+w.Body.String()] = true
	}
	if len(answers) != 1 {
		t.Errorf("%d different answers, want 1: %v", len(answers), answers)
	}
}

// TestRefusedKeySaysWhy: someone who has a key learns what to do about it.
func TestRefusedKeySaysWhy(t *testing.T) {
	expired := apitest.APIKey("pf_expired_and_long")
	expired.Spec.ExpiresAt = &metav1.Time{Time: apitest.Noon.Add(-3 * time.Minute)}
	w := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(expired)}).Exchange(apitest.Post(`{}`,
		apitest.Header("Authorization", "Bearer pf_expired_and_long")))
	if got := apitest.Decode[httpapi.Problem](t, w); w.Code != http.StatusUnauthorized || got.FailureCode != "unauthenticated" ||
		got.FailureMessage != `The API key expired 3 minutes ago. Create another one with "postflight keys create", and send that.` {
		t.Errorf("%d: %+v", w.Code, got)
	}
}

func TestRequestID(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{})
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
			w := h.Exchange(apitest.Post(`{}`, apitest.Header("X-Request-Id", tc.sent...)))
			got := w.Header().Get("X-Request-Id")
			if kept := len(tc.sent) > 0 && got == tc.sent[0]; kept != tc.kept || !regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`).MatchString(got) {
				t.Errorf("sent %q, got %q, want it kept: %v", tc.sent, got, tc.kept)
			}
			if apitest.Decode[httpapi.Problem](t, w).EventID != got {
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
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Triggers: broken{}})
	w := h.Exchange(apitest.Post(apitest.WithSHA))
	if got := apitest.Decode[httpapi.Problem](t, w); w.Code != 500 || got.FailureCode != "internal_error" ||
		strings.Contains(w.Body.String(), "a bug") {
		t.Errorf("%d %s, want 500 that keeps the bug to itself", w.Code, w.Body)
	}
	if log := h.Log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "handler_test.go") {
		t.Errorf("the log does not say where: %s", log)
	}
	if n := h.Server.InFlight.InUse(); n != 0 {
		t.Errorf("%d requests in flight after the answer", n)
	}
}

func TestAuditLine(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("a"), apitest.Trigger("b"),
		apitest.Trigger("c", apitest.InNowhere))})
	h.Notify(`{"sha":"x"}`)
	h.Audit.B.Reset()
	h.Exchange(apitest.Post(`{"sha":"x","branch":"main","variables":{"TOKEN":"hunter2"}}`, apitest.Header("Authorization", "Bearer no")))
	if line := h.Audit.String(); line != "" {
		t.Errorf("an unauthenticated request was audited: %s", line)
	}
	got := h.Notify(`{"sha":"x","branch":"main","variables":{"TOKEN":"hunter2"}}`, apitest.Header("X-Request-Id", "one"))
	line := h.Audit.String()
	if strings.Count(line, "\n") != 1 || strings.Contains(line, "hunter2") || strings.Contains(line, apitest.GoodKey) {
		t.Errorf("want one line without keys and variables: %s", line)
	}
	var entry map[string]any
	if err := json.Unmarshal([]byte(line), &entry); err != nil {
		t.Fatal(err)
	}
	delete(entry, "time")
	want := map[string]any{
		"level": "INFO", "msg": "request", "requestID": "one", "team": "acme", "key": "acme/pf-good-and-long", "method": "POST",
		"route": apitest.DeploySuccessPath, "code": 200., "milliseconds": 0., "dryRun": false, "sha": "x", "branch": "main",
		"duplicate": 2., "failed": 1., "suites": []any{got.Results[0].DuplicateSuiteID, got.Results[1].DuplicateSuiteID},
	}
	if diff := cmp.Diff(want, entry); diff != "" {
		t.Error(diff)
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke")),
		Faults: interceptor.Funcs{Create: apitest.Refuse(apitest.ErrRefused)}})
	for _, body := range []string{`{"variables":{"TOKEN":"hunter2"}}`, `{"variables":{"TOKEN":["hunter2"]}}`,
		`{"deployment_url":"https://u:hunter2@example.com"}`} {
		h.Exchange(apitest.Post(body))
	}
	if all := h.Log.String() + h.Audit.String(); strings.Contains(all, "hunter2") || strings.Contains(all, apitest.GoodKey) {
		t.Errorf("a secret was logged: %s", all)
	}
}

func TestMetrics(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("a"), apitest.Trigger("b", apitest.InNowhere))})
	h.Notify(apitest.WithSHA)
	h.Notify(apitest.WithSHA)
	h.Notify(apitest.WithSHA, apitest.Query("dryRun=true"))
	h.Exchange(apitest.Post(`{`))
	h.Exchange(apitest.Post(`{}`, apitest.Path("/nowhere/"+apitest.SHA)))
	h.Exchange(apitest.Post(`{}`, apitest.Method("DELETE")))
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
	if err := testutil.GatherAndCompare(h.Registry, strings.NewReader(want), "postflight_http_requests_total",
		"postflight_notifications_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(h.Registry, "postflight_http_request_seconds"); n != 2 || err != nil {
		t.Errorf("%d histograms of the time to answer, want one per route", n)
	}
}

// TestServerLimits are those that come before any handler, on a real connection.
func TestServerLimits(t *testing.T) {
	const short = 200 * time.Millisecond
	t.Run("headers of 100 KB", func(t *testing.T) { checkLargeHeader(t, limited(t, func(*limits.Limits) {}).URL) })
	t.Run("a body that does not come", func(t *testing.T) {
		answer := raw(t, limited(t, func(l *limits.Limits) { l.BodyTimeout = short }),
			"POST "+apitest.DeploySuccessPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+apitest.GoodKey+"\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
		if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, "body_timeout") ||
			!strings.Contains(answer, "Connection: close") {
			t.Errorf("got %q, want 408 and a closed connection", answer)
		}
	})
	t.Run("headers that do not come", func(t *testing.T) {
		answer := raw(t, limited(t, func(l *limits.Limits) { l.HeaderTimeout = short }), "POST "+apitest.DeploySuccessPath+" HTTP/1.1\r\nHost")
		if strings.HasPrefix(answer, "HTTP/1.1 2") {
			t.Errorf("got %q, want a closed connection, at most with a complaint", answer)
		}
	})
}

// limited is a server with the limits of an API.
func limited(t *testing.T, limits func(*limits.Limits)) *httptest.Server {
	t.Helper()
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Limits: limits})
	server := httptest.NewUnstartedServer(h)
	h.Limits.Apply(server.Config, apitest.Budget)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

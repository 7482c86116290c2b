package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bad is a request that must create nothing.
type bad struct {
	reason  string
	request func(*http.Request)
	body    string // {} where it is empty
	status  int
	code    string
	field   string
	// hidden says that the OpenAPI document cannot express what is wrong, and why.
	hidden string
}

const (
	inBytes   = "schemas count characters"
	inText    = "schemas see the decoded JSON"
	inUnicode = "schemas have no class for it"
	inSum     = "schemas do not add up"
	inNesting = "schemas do not look into what they do not know"
	inObjects = "schemas do not compare values"
)

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

func query(raw string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = raw }
}

func method(m string) func(*http.Request) {
	return func(r *http.Request) { r.Method = m }
}

func path(p string) func(*http.Request) {
	return func(r *http.Request) { r.URL.Path = p }
}

func both(first, second func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) { first(r); second(r) }
}

func unauthenticated(reason string, authorization ...string) bad {
	return bad{reason: reason, request: header("Authorization", authorization...), status: 401, code: "unauthenticated"}
}

func badBody(reason, body, field, hidden string) bad {
	return bad{reason: reason, body: body, status: 400, code: "invalid_body", field: field, hidden: hidden}
}

func member(name, value string) string { return `{"` + name + `":` + value + `}` }

func text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

func variables(n, valueBytes int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"V%d":%s`, i, text(valueBytes))
	}
	return member("variables", "{"+strings.TrimPrefix(b.String(), ",")+"}")
}

func TestBadInput(t *testing.T) {
	past := metav1.NewTime(noon.Add(-time.Second))
	expired, suspended, orphan, elsewhere := apiKey("pf_expired_and_long"), apiKey("pf_suspended_and_long"), apiKey("pf_orphan_and_long"), apiKey("pf_elsewhere_and_long")
	expired.Spec.ExpiresAt = &past
	suspended.Spec.Suspended = true
	orphan.Namespace = "nobody"
	elsewhere.Namespace = "closed"
	closed := team("closed")
	closed.Spec.Suspended = true
	h := start(t, setup{objects: acme(trigger("smoke"), expired, suspended, orphan, elsewhere, closed)})

	rows := append(badRequests(), badBodies()...)
	t.Logf("%d kinds of bad input", len(rows))
	if len(rows) < 80 {
		t.Errorf("%d rows, want at least 80", len(rows))
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) { checkBadInput(t, h, row) })
	}
	if suites := h.suites(); len(suites) != 0 {
		t.Errorf("%d Suites were created", len(suites))
	}
	if environments := h.environments(); len(environments) != 1 {
		t.Errorf("%d Environments, want the 1 that was there", len(environments))
	}
}

func checkBadInput(t *testing.T, h *harness, row bad) {
	body := row.body
	if body == "" {
		body = "{}"
	}
	r := post(body)
	if row.request != nil {
		row.request(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != row.status {
		t.Fatalf("status %d, want %d: %s", w.Code, row.status, w.Body)
	}
	checkAgainstDocument(t, r, []byte(body), w)
	if row.code == "" {
		return
	}
	got := decode[problem](t, w)
	if got.FailureCode != row.code || got.Field != row.field {
		t.Errorf("failureCode %q, field %q, want %q, %q: %s", got.FailureCode, got.Field, row.code, row.field, got.FailureMessage)
	}
	checkProblem(t, got, w)
	if row.code == "invalid_body" {
		checkDocumentForbids(t, r, body, row.hidden)
	}
}

func checkProblem(t *testing.T, got problem, w *httptest.ResponseRecorder) {
	if got.Status != w.Code || got.Type != problemBase+got.FailureCode || got.Detail != got.FailureMessage {
		t.Errorf("the members of the problem differ: %s", w.Body)
	}
	if got.EventID == "" || got.EventID != w.Header().Get("X-Request-Id") {
		t.Errorf("eventId %q, header %q, want the same", got.EventID, w.Header().Get("X-Request-Id"))
	}
	if !strings.HasSuffix(got.FailureMessage, ".") {
		t.Errorf("not a sentence: %s", got.FailureMessage)
	}
	if strings.Contains(w.Body.String(), goodKey) || strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("the answer reveals too much: %s", w.Body)
	}
}

// checkDocumentForbids checks that the document forbids a body that the API refuses, unless it cannot express what
// is wrong.
func checkDocumentForbids(t *testing.T, r *http.Request, body, hidden string) {
	t.Helper()
	r = r.Clone(t.Context())
	r.URL.Path = deploySuccessPath
	err := openapi3filter.ValidateRequest(t.Context(), documented(t, r, []byte(body)))
	if err == nil && hidden == "" {
		t.Errorf("the document allows what the API refuses: %.200s", body)
	}
	if err != nil && hidden != "" {
		t.Errorf("the document does forbid it, so the row need not say %q: %v", hidden, err)
	}
}

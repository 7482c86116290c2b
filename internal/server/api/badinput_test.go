package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/apitest"
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

func unauthenticated(reason string, authorization ...string) bad {
	return bad{reason: reason, request: apitest.Header("Authorization", authorization...), status: 401, code: "unauthenticated"}
}

func badBody(reason, body, field, hidden string) bad {
	return bad{reason: reason, body: body, status: 400, code: "invalid_body", field: field, hidden: hidden}
}

func variables(n, valueBytes int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"V%d":%s`, i, apitest.Text(valueBytes))
	}
	return apitest.Member("variables", "{"+strings.TrimPrefix(b.String(), ",")+"}")
}

func TestBadInput(t *testing.T) {
	past := metav1.NewTime(apitest.Noon.Add(-time.Second))
	expired, suspended, orphan, elsewhere := apitest.APIKey("pf_expired_and_long"), apitest.APIKey("pf_suspended_and_long"), apitest.APIKey("pf_orphan_and_long"), apitest.APIKey("pf_elsewhere_and_long")
	expired.Spec.ExpiresAt = &past
	suspended.Spec.Suspended = true
	orphan.Namespace = "nobody"
	elsewhere.Namespace = "closed"
	closed := apitest.Team("closed")
	closed.Spec.Suspended = true
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), expired, suspended, orphan, elsewhere, closed)})

	rows := append(badRequests(), badBodies()...)
	t.Logf("%d kinds of bad input", len(rows))
	if len(rows) < 80 {
		t.Errorf("%d rows, want at least 80", len(rows))
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) { checkBadInput(t, h, row) })
	}
	if suites := h.Suites(); len(suites) != 0 {
		t.Errorf("%d Suites were created", len(suites))
	}
	if environments := h.Environments(); len(environments) != 1 {
		t.Errorf("%d Environments, want the 1 that was there", len(environments))
	}
}

func checkBadInput(t *testing.T, h *apitest.World, row bad) {
	body := row.body
	if body == "" {
		body = "{}"
	}
	r := apitest.Post(body)
	if row.request != nil {
		row.request(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != row.status {
		t.Fatalf("status %d, want %d: %s", w.Code, row.status, w.Body)
	}
	apitest.CheckAgainstDocument(t, r, []byte(body), w)
	if row.code == "" {
		return
	}
	got := apitest.Decode[httpapi.Problem](t, w)
	if got.FailureCode != row.code || got.Field != row.field {
		t.Errorf("failureCode %q, field %q, want %q, %q: %s", got.FailureCode, got.Field, row.code, row.field, got.FailureMessage)
	}
	apitest.CheckProblem(t, got, w)
	if row.code == "invalid_body" {
		checkDocumentForbids(t, r, body, row.hidden)
	}
}

// checkDocumentForbids checks that the document forbids a body that the API refuses, unless it cannot express what
// is wrong.
func checkDocumentForbids(t *testing.T, r *http.Request, body, hidden string) {
	t.Helper()
	r = r.Clone(t.Context())
	r.URL.Path = apitest.DeploySuccessPath
	err := openapi3filter.ValidateRequest(t.Context(), apitest.Documented(t, r, []byte(body)))
	if err == nil && hidden == "" {
		t.Errorf("the document allows what the API refuses: %.200s", body)
	}
	if err != nil && hidden != "" {
		t.Errorf("the document does forbid it, so the row need not say %q: %v", hidden, err)
	}
}

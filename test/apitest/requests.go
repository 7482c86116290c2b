package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// Header sets a header of a request.
func Header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

// Query sets the query of a request.
func Query(raw string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = raw }
}

// Method sets the method of a request.
func Method(m string) func(*http.Request) {
	return func(r *http.Request) { r.Method = m }
}

// Path sets the path of a request.
func Path(p string) func(*http.Request) {
	return func(r *http.Request) { r.URL.Path = p }
}

// Both makes two changes of a request.
func Both(first, second func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) { first(r); second(r) }
}

// Member is an object with one member.
func Member(name, value string) string { return `{"` + name + `":` + value + `}` }

// Text is a JSON string of so many letters.
func Text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

// CheckProblem checks what all problems have in common.
func CheckProblem(t *testing.T, got httpapi.Problem, w *httptest.ResponseRecorder) {
	if got.Status != w.Code || got.Type != "https://postflight.dev/problems/"+got.FailureCode || got.Detail != got.FailureMessage {
		t.Errorf("the members of the problem differ: %s", w.Body)
	}
	if got.EventID == "" || got.EventID != w.Header().Get("X-Request-Id") {
		t.Errorf("eventId %q, header %q, want the same", got.EventID, w.Header().Get("X-Request-Id"))
	}
	if !strings.HasSuffix(got.FailureMessage, ".") {
		t.Errorf("not a sentence: %s", got.FailureMessage)
	}
	if strings.Contains(w.Body.String(), GoodKey) || strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("the answer reveals too much: %s", w.Body)
	}
}

// GreenlightPath is the path of these requests.
const GreenlightPath = "/api/v0/ci-greenlight/"

// ARun of the stream main/staging, received the given minutes after noon.
func ARun(name string, minutes int, conditions ...metav1.Condition) *v1alpha1.Suite {
	received := metav1.NewMicroTime(Noon.Add(time.Duration(minutes) * time.Minute))
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, UID: types.UID("uid-" + name)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			SupersedeKey: "main/staging", ReceivedAt: &received,
		},
		Status: v1alpha1.SuiteStatus{Conditions: conditions},
	}
}

// SupersededBy ends a run because of a newer one.
func SupersededBy(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.Superseded("Superseded by " + name + ".")}
		s.Status.SupersededBy = name
	}
}

// Ask asks for the greenlight of a run.
func Ask(id, query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, GreenlightPath+url.PathEscape(id)+query, nil)
	r.Header.Set("Authorization", "Bearer "+GoodKey)
	return r
}

// TerminatedPath is the path of these requests.
const TerminatedPath = "/api/webhooks/environment_terminated"

// Terminated reports that an Environment is gone.
func Terminated(body string) *http.Request {
	r := Keyed(http.MethodPost, TerminatedPath, body)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// WithSHA is the body of a notification that names a commit.
const WithSHA = `{"branch":"main","sha":"` + SHA + `"}`

// RunsPath is the path of these requests.
const RunsPath = "/api/v0/runs"

// Keyed is a request with the key of the team.
func Keyed(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+GoodKey)
	return r
}

// List returns a page of runs.
func (h *World) List(query string) httpapi.Runs {
	h.T.Helper()
	w := h.Exchange(Get(RunsPath + query))
	if w.Code != http.StatusOK {
		h.T.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return Decode[httpapi.Runs](h.T, w)
}

// All returns the ids of all pages, separated by bars.
func (h *World) All(query url.Values) string {
	h.T.Helper()
	var pages []string
	for range 1000 {
		page := h.List("?" + query.Encode())
		if page.ArchiveProblem != "" {
			h.T.Fatal(page.ArchiveProblem)
		}
		pages = append(pages, strings.Join(IDs(page.Runs), " "))
		if page.Next == "" {
			return strings.Join(pages, " | ")
		}
		query.Set("cursor", page.Next)
	}
	h.T.Fatal("there is no last page")
	return ""
}

// IDs returns the ids of runs.
func IDs(runs []httpapi.Run) (ids []string) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// TeamStoragePath is the path of these requests.
const TeamStoragePath = "/api/v0/team-storage-signed-url"

// Post is a good notification with the given body.
func Post(body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, DeploySuccessPath, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+GoodKey)
	r.Header.Set("Content-Type", "application/json")
	return build.With(r, change...)
}

// Exchange is a request and its answer, both checked against the OpenAPI document.
func (h *World) Exchange(r *http.Request, change ...func(*http.Request)) *httptest.ResponseRecorder {
	h.T.Helper()
	body, err := io.ReadAll(build.With(r, change...).Body)
	if err != nil {
		h.T.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if h.Validate {
		CheckAgainstDocument(h.T, r, body, w)
	}
	return w
}

// Notify posts a good notification and returns its answer.
func (h *World) Notify(body string, change ...func(*http.Request)) httpapi.NotificationResult {
	h.T.Helper()
	w := h.Exchange(Post(body, change...))
	if w.Code != http.StatusOK {
		h.T.Fatalf("status %d, want 200: %s", w.Code, w.Body)
	}
	return Decode[httpapi.NotificationResult](h.T, w)
}

// Decode reads an answer.
func Decode[T any](t testing.TB, w *httptest.ResponseRecorder) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return value
}

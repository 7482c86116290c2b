package github_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

var sha = strings.Repeat("5ca1ab1e", 5)

func request(c report.Credentials, phase v1alpha1.ReportPhase, state string) report.Request {
	r := report.Request{
		Target:      report.Target{Host: v1alpha1.GitHub, Repository: "acme/shop", SHA: sha, Branch: "main"},
		Credentials: c,
		Check: report.Check{
			Name: "postflight/smoke (staging)", ExternalID: "u1", DetailsURL: "https://ci.example.com/runs/acme/smoke-1",
			Phase: phase, State: state, Title: string(phase) + " " + state, Summary: "text", StartedAt: time.Unix(1, 0),
		},
	}
	if phase == v1alpha1.ReportCompleted {
		r.Check.CompletedAt = time.Unix(2, 0)
		r.Check.Annotations = []report.Annotation{{Path: "a.go", Line: 3, Title: "t", Message: "m"}}
	}
	return r
}

var ends = []string{
	v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut, v1alpha1.ReasonCanceled,
	v1alpha1.ReasonSuperseded, v1alpha1.ReasonError, "Unknown",
}

func app() report.Credentials {
	return report.Credentials{AppID: codehost.AppID, PrivateKey: codehost.AppKey()}
}

func token(fake *codehost.Host) report.Credentials { return report.Credentials{Token: fake.Token()} }

// posts makes the requests in order, each with what the one before left.
func posts(t *testing.T, h *github.Host, requests ...report.Request) {
	t.Helper()
	var last v1alpha1.SuiteReport
	for _, r := range requests {
		r.Last = last
		shown, err := h.Post(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", r.Check.Phase, err)
		}
		if shown.Phase != r.Check.Phase || shown.Repository != "acme/shop" || shown.HostingService != v1alpha1.GitHub {
			t.Errorf("%s: got %+v", r.Check.Phase, shown)
		}
		last = shown
	}
}

func TestCheckRuns(t *testing.T) {
	want := map[string]string{
		v1alpha1.ReasonPassed: "success", v1alpha1.ReasonFailed: "failure", v1alpha1.ReasonTimedOut: "timed_out",
		v1alpha1.ReasonCanceled: "cancelled", v1alpha1.ReasonSuperseded: "cancelled", v1alpha1.ReasonError: "failure", "Unknown": "failure",
	}
	for _, end := range ends {
		fake := codehost.GitHub(t)
		h := github.New(fake.URL, outbound.New())
		posts(t, h, request(app(), v1alpha1.ReportQueued, ""), request(app(), v1alpha1.ReportInProgress, ""),
			request(app(), v1alpha1.ReportCompleted, end))
		if diff := cmp.Diff([]string{"queued", "in_progress", want[end]}, fake.States(sha)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", end, diff)
		}
		if diff := cmp.Diff(map[string]int{"completed": 1}, fake.CheckRuns(sha)); diff != "" {
			t.Errorf("%s: check runs:\n%s", end, diff)
		}
		if requests := fake.Requests(); len(requests) != 6 { // installation, token, look-up, three writes
			t.Errorf("%d requests: %q", len(requests), requests)
		}
	}
}

func TestStatuses(t *testing.T) {
	want := map[string]string{
		v1alpha1.ReasonPassed: "success", v1alpha1.ReasonFailed: "failure", v1alpha1.ReasonTimedOut: "failure",
		v1alpha1.ReasonCanceled: "error", v1alpha1.ReasonSuperseded: "error", v1alpha1.ReasonError: "error", "Unknown": "error",
	}
	for _, end := range ends {
		fake := codehost.GitHub(t)
		h := github.New(fake.URL+"/", outbound.New())
		posts(t, h, request(token(fake), v1alpha1.ReportQueued, ""), request(token(fake), v1alpha1.ReportInProgress, ""),
			request(token(fake), v1alpha1.ReportCompleted, end))
		if diff := cmp.Diff([]string{"pending", "pending", want[end]}, fake.States(sha)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", end, diff)
		}
		if requests := fake.Requests(); len(requests) != 3 {
			t.Errorf("%d requests: %q", len(requests), requests)
		}
	}
}

// TestAfterAnUnknownOutcome: a request that had its effect, and whose answer was lost, is not repeated.
func TestAfterAnUnknownOutcome(t *testing.T) {
	for name, credentials := range map[string]func(*codehost.Host) report.Credentials{
		"app": func(*codehost.Host) report.Credentials { return app() }, "token": token,
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			h := github.New(fake.URL, outbound.New())
			r := request(credentials(fake), v1alpha1.ReportInProgress, "")
			posts(t, github.New(fake.URL, outbound.New()), r) // by another leader, or lost
			r.Unsure = true
			posts(t, h, r)
			if writes := fake.Writes(); len(writes) != 1 {
				t.Errorf("written %d times", len(writes))
			}
			r = request(credentials(fake), v1alpha1.ReportCompleted, v1alpha1.ReasonPassed)
			r.Unsure = true
			posts(t, h, r)
			if diff := cmp.Diff("success", fake.States(sha)[1]); diff != "" || len(fake.CheckRuns(sha)) > 1 {
				t.Errorf("the outcome: %s, check runs: %v", diff, fake.CheckRuns(sha))
			}
		})
	}
}

// TestEndIsReadBack: an end whose answer was lost is not posted again: GitHub would show its annotations twice.
func TestEndIsReadBack(t *testing.T) {
	fake := codehost.GitHub(t)
	h := github.New(fake.URL, outbound.New())
	last, err := h.Post(t.Context(), request(app(), v1alpha1.ReportInProgress, ""))
	if err != nil {
		t.Fatal(err)
	}
	end := request(app(), v1alpha1.ReportCompleted, v1alpha1.ReasonFailed)
	end.Last, end.Unsure = last, true
	for range 2 {
		shown, err := h.Post(t.Context(), end)
		if err != nil || shown.Phase != v1alpha1.ReportCompleted || shown.CheckID != last.CheckID {
			t.Fatalf("got %+v, %v", shown, err)
		}
	}
	if diff := cmp.Diff([]string{"in_progress", "failure"}, fake.States(sha)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestAnotherRunsStatus: the status of an earlier run of the same name is not taken for this run's.
func TestAnotherRunsStatus(t *testing.T) {
	fake := codehost.GitHub(t)
	h := github.New(fake.URL, outbound.New())
	r := request(token(fake), v1alpha1.ReportInProgress, "")
	posts(t, h, r)
	r.Check.DetailsURL, r.Unsure = "https://ci.example.com/runs/acme/smoke-2", true
	posts(t, h, r)
	if writes := fake.Writes(); len(writes) != 2 || writes[1].URL != r.Check.DetailsURL {
		t.Errorf("got %+v", writes)
	}
}

func TestErrors(t *testing.T) {
	limits := "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	cases := map[string]struct {
		fault codehost.Fault
		kind  report.Kind
		after time.Duration
		says  string
	}{
		"failed": {codehost.Fault{Status: 500}, report.Unavailable, 0, "GitHub failed (500)"},
		"overloaded": {codehost.Fault{Status: 503, Header: map[string]string{"Retry-After": "7"}}, report.Unavailable, 7 * time.Second,
			"GitHub failed (503)"},
		"secondary limit": {codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "30"},
			Body: `{"message":"x","documentation_url":"` + limits + `"}`}, report.Limited, 30 * time.Second, "secondary rate limit"},
		"without a time": {codehost.Fault{Status: 403, Body: `{"message":"x","documentation_url":"` + limits + `"}`}, report.Limited,
			time.Minute, "secondary rate limit"},
		"for ever": {codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "99999999"},
			Body: `{"message":"x","documentation_url":"` + limits + `"}`}, report.Limited, time.Hour, "secondary rate limit"},
		"for this century": {codehost.Fault{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": "4102444800"}}, report.Limited, time.Hour, "GitHub's rate limit"},
		"for longer": {codehost.Fault{Status: 429, Header: map[string]string{"Retry-After": "10000000000"}}, report.Limited, time.Hour,
			"asks to send less"},
		"without its page": {codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "30"}}, report.Limited, 30 * time.Second,
			"asks to send less"},
		"too many": {codehost.Fault{Status: 429, Header: map[string]string{"Retry-After": "99999999"}}, report.Limited, time.Hour,
			"asks to send less"},
		"forbidden": {codehost.Fault{Status: 403, Body: `{"message":"Resource not accessible"}`}, report.Rejected,
			0, "needs the permission"},
		"unauthorized": {codehost.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, report.Rejected, 0,
			"does not accept the credentials (401 Bad credentials)"},
		"not found": {codehost.Fault{Status: 404}, report.Rejected, 0, "knows no commit 5ca1ab1e5ca1 in acme/shop"},
		"unprocessable": {codehost.Fault{Status: 422, Body: `{"message":"No commit\nfound \u001b[31mfor SHA"}`}, report.Rejected,
			0, "does not accept the check (422 No commit; found for SHA)"},
		"conflict": {codehost.Fault{Status: 409}, report.Conflict, 0, "another request"},
		"redirect": {codehost.Fault{Status: 301, Header: map[string]string{"Location": "https://evil.example.com/"}}, report.Rejected,
			0, "follows no redirect"},
		"moved for now": {codehost.Fault{Status: 307, Header: map[string]string{"Location": "https://evil.example.com/"}}, report.Rejected,
			0, "follows no redirect"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			fake.Fail(&tc.fault)
			for _, c := range []report.Credentials{token(fake), app()} {
				_, err := github.New(fake.URL, outbound.New()).Post(t.Context(), request(c, v1alpha1.ReportInProgress, ""))
				got := problem(t, err)
				if got.Kind != tc.kind || got.RetryAfter != tc.after || !strings.Contains(got.Message, tc.says) {
					t.Errorf("app %t: got %+v, want kind %d after %s with %q", c.IsApp(), got, tc.kind, tc.after, tc.says)
				}
			}
		})
	}
}

func problem(t *testing.T, err error) *report.Error {
	t.Helper()
	var got *report.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want a *report.Error", err)
	}
	return got
}

func TestPrimaryLimit(t *testing.T) {
	fake := codehost.GitHub(t)
	reset := time.Now().Add(10 * time.Minute).Unix()
	fake.Fail(&codehost.Fault{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0",
		"X-RateLimit-Reset": strconv.FormatInt(reset, 10)}})
	_, err := github.New(fake.URL, outbound.New()).Post(t.Context(), request(token(fake), v1alpha1.ReportInProgress, ""))
	if got := problem(t, err); got.Kind != report.Limited || got.RetryAfter < 9*time.Minute || got.RetryAfter > 10*time.Minute {
		t.Errorf("got %+v", got)
	}
}

// TestTheTokenStaysAtItsHost: a redirect gets no request, and so no token, even at the same host.
func TestTheTokenStaysAtItsHost(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	fake := codehost.GitHub(t)
	for _, c := range []report.Credentials{token(fake), app()} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			fake.Fail(&codehost.Fault{Status: status, Header: map[string]string{"Location": other.URL}})
			before := len(fake.Requests())
			_, err := github.New(fake.URL, outbound.New()).Post(t.Context(), request(c, v1alpha1.ReportInProgress, ""))
			if got := problem(t, err); got.Kind != report.Rejected || len(fake.Requests()) != before+1 {
				t.Errorf("%d: got %+v after %d requests", status, got, len(fake.Requests())-before)
			}
		}
	}
	if elsewhere > 0 {
		t.Errorf("the target of the redirects got %d requests", elsewhere)
	}
}

func TestNoAnswer(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Fail(&codehost.Fault{})
	for _, c := range []report.Credentials{token(fake), app()} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := github.New(fake.URL, outbound.New()).Post(ctx, request(c, v1alpha1.ReportInProgress, ""))
		cancel()
		if got := problem(t, err); got.Kind != report.Unavailable || got.Message != "GitHub does not answer" {
			t.Errorf("got %+v", got)
		}
	}
	fake.Close()
	_, err := github.New(fake.URL, outbound.New()).Post(t.Context(), request(token(fake), v1alpha1.ReportInProgress, ""))
	if got := problem(t, err); got.Kind != report.Unavailable || got.Message != "GitHub cannot be reached" ||
		strings.Contains(got.Message, "127.0.0.1") {
		t.Errorf("got %+v", got)
	}
}

// TestPathsAreEscaped: whatever the name of a repository, requests go to a path below /repos/OWNER/NAME.
func TestPathsAreEscaped(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths = append(paths, r.URL.EscapedPath()) }))
	defer server.Close()
	r := request(report.Credentials{Token: "t"}, v1alpha1.ReportInProgress, "")
	for _, name := range []string{"ac me/x?y#z%2e", "acme/..", "acme/../admin"} { // the client itself refuses ".."
		r.Repository = name
		_, _ = github.New(server.URL, outbound.New()).Post(t.Context(), r)
	}
	if diff := cmp.Diff([]string{"/repos/ac%20me/x%3Fy%23z%252e/statuses/" + sha}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestBadKey(t *testing.T) {
	_, err := github.New("https://127.0.0.1:1", outbound.New()).Post(t.Context(),
		request(report.Credentials{AppID: 1, PrivateKey: []byte("s3cret")}, v1alpha1.ReportInProgress, ""))
	if got := problem(t, err); got.Kind != report.Rejected || strings.Contains(got.Message, "s3cret") {
		t.Errorf("got %+v", got)
	}
}

// TestTokenOfAnAppIsReplaced: the token of an installation is used again, until GitHub refuses it.
func TestTokenOfAnAppIsReplaced(t *testing.T) {
	fake := codehost.GitHub(t)
	h := github.New(fake.URL, outbound.New())
	tokens := func() (n int) {
		for _, request := range fake.Requests() {
			if strings.HasSuffix(request, "/access_tokens") {
				n++
			}
		}
		return n
	}
	posts(t, h, request(app(), v1alpha1.ReportQueued, ""), request(app(), v1alpha1.ReportInProgress, ""))
	if got := tokens(); got != 1 {
		t.Errorf("asked for %d tokens", got)
	}
	fake.Fail(&codehost.Fault{Status: 401})
	_, err := h.Post(t.Context(), request(app(), v1alpha1.ReportCompleted, v1alpha1.ReasonPassed))
	if problem(t, err).Kind != report.Rejected {
		t.Errorf("got %v", err)
	}
	fake.Fail(nil)
	posts(t, h, request(app(), v1alpha1.ReportCompleted, v1alpha1.ReasonPassed))
	if got := tokens(); got != 2 {
		t.Errorf("asked for %d tokens", got)
	}
}

package gitlab_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

var sha = strings.Repeat("5ca1ab1e", 5)

func request(token string, phase v1alpha1.ReportPhase, state string) report.Request {
	return report.Request{
		Target:      report.Target{Host: v1alpha1.GitLab, Repository: "group/sub/project", SHA: sha, Branch: "main"},
		Credentials: report.Credentials{Token: token},
		Check: report.Check{
			Name: "postflight/smoke (staging)", ExternalID: "u1", DetailsURL: "https://ci.example.com/runs/acme/smoke-1",
			Phase: phase, State: state, Title: string(phase) + " " + state, Summary: "text",
		},
	}
}

func posts(t *testing.T, h *gitlab.Host, requests ...report.Request) {
	t.Helper()
	for _, r := range requests {
		shown, err := h.Post(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", r.Check.Phase, err)
		}
		if shown.Phase != r.Check.Phase || shown.Repository != "group/sub/project" || shown.HostingService != v1alpha1.GitLab {
			t.Errorf("%s: got %+v", r.Check.Phase, shown)
		}
	}
}

func TestStatuses(t *testing.T) {
	for end, want := range map[string]string{
		v1alpha1.ReasonPassed: "success", v1alpha1.ReasonFailed: "failed", v1alpha1.ReasonTimedOut: "failed",
		v1alpha1.ReasonCanceled: "canceled", v1alpha1.ReasonSuperseded: "canceled", v1alpha1.ReasonError: "failed", "Unknown": "failed",
	} {
		fake := codehost.GitLab(t)
		h := gitlab.New(fake.URL, outbound.New())
		posts(t, h, request(fake.Token(), v1alpha1.ReportQueued, ""), request(fake.Token(), v1alpha1.ReportInProgress, ""),
			request(fake.Token(), v1alpha1.ReportCompleted, end))
		if diff := cmp.Diff([]string{"pending", "running", want}, fake.States(sha)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", end, diff)
		}
		last := fake.Writes()[2]
		if last.Repository != "group/sub/project" || last.Name != "postflight/smoke (staging)" || last.Body["ref"] != "main" || last.URL == "" {
			t.Errorf("got %+v", last)
		}
		if requests := fake.Requests(); len(requests) != 3 || requests[0] != "POST /api/v4/projects/group%2Fsub%2Fproject/statuses/"+sha {
			t.Errorf("requests: %q", requests)
		}
	}
}

// TestPipeline: a status belongs to the pipeline that the notification names.
func TestPipeline(t *testing.T) {
	fake := codehost.GitLab(t)
	r := request(fake.Token(), v1alpha1.ReportInProgress, "")
	r.PipelineID, r.Branch = 345, ""
	posts(t, gitlab.New(fake.URL, outbound.New()), r)
	if got := fake.Writes()[0].Body; got["pipeline_id"] != 345.0 || got["ref"] != nil {
		t.Errorf("got %v", got)
	}
}

// TestRepeatedTransitions: GitLab refuses the state that it already shows, and earlier ones; both are as good as
// accepted.
func TestRepeatedTransitions(t *testing.T) {
	fake := codehost.GitLab(t)
	h := gitlab.New(fake.URL, outbound.New())
	running := request(fake.Token(), v1alpha1.ReportInProgress, "")
	posts(t, h, running, running, request(fake.Token(), v1alpha1.ReportQueued, ""))
	if diff := cmp.Diff([]string{"running"}, fake.States(sha)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyAttempts: what an attempt posted is found among the statuses of many others, which fill pages, and of another
// pipeline.
func TestManyAttempts(t *testing.T) {
	fake := codehost.GitLab(t)
	h := gitlab.New(fake.URL, outbound.New())
	passed := func(attempt int, pipeline int64) report.Request {
		r := request(fake.Token(), v1alpha1.ReportCompleted, v1alpha1.ReasonPassed)
		r.Check.DetailsURL, r.PipelineID = fmt.Sprint("https://ci.example.com/runs/acme/smoke-", attempt), pipeline
		return r
	}
	for attempt := range 130 {
		posts(t, h, passed(attempt, 1))
	}
	posts(t, h, passed(130, 2))
	again := passed(129, 1)
	again.Unsure = true
	posts(t, h, again)
	if writes := fake.Writes(); len(writes) != 131 {
		t.Errorf("%d writes, want 131", len(writes))
	}
}

// TestLongBranch: GitLab refuses a longer ref than it can have.
func TestLongBranch(t *testing.T) {
	fake := codehost.GitLab(t)
	r := request(fake.Token(), v1alpha1.ReportInProgress, "")
	r.Branch = strings.Repeat("b", 256)
	posts(t, gitlab.New(fake.URL, outbound.New()), r)
	if got := fake.Writes()[0].Body; got["ref"] != nil {
		t.Errorf("got %v", got)
	}
}

func TestAfterAnUnknownOutcome(t *testing.T) {
	fake := codehost.GitLab(t)
	h := gitlab.New(fake.URL, outbound.New())
	passed := request(fake.Token(), v1alpha1.ReportCompleted, v1alpha1.ReasonPassed)
	fake.Fail(&codehost.Fault{Status: 502, Handled: true})
	if _, err := h.Post(t.Context(), passed); problem(t, err).Kind != report.Unavailable {
		t.Errorf("got %v", err)
	}
	fake.Fail(nil)
	passed.Unsure = true
	posts(t, h, passed)
	if diff := cmp.Diff([]string{"success"}, fake.States(sha)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := passed
	again.Check.DetailsURL = "https://ci.example.com/runs/acme/smoke-2"
	posts(t, h, again) // another run of the commit
	if diff := cmp.Diff([]string{"success", "success"}, fake.States(sha)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		fault codehost.Fault
		kind  report.Kind
		says  string
	}{
		"failed":   {codehost.Fault{Status: 500, Body: "<html>10.0.0.1</html>"}, report.Unavailable, "GitLab failed (500)"},
		"too many": {codehost.Fault{Status: 429}, report.Limited, "asks to send less"},
		"conflict": {codehost.Fault{Status: 409, Body: `{"message":"Another update to this commit status is in progress"}`}, report.Conflict,
			"another request"},
		"unauthorized": {codehost.Fault{Status: 401, Body: `{"message":"401 Unauthorized"}`}, report.Rejected, "does not accept the credentials"},
		"forbidden":    {codehost.Fault{Status: 403, Body: `{"message":"403 Forbidden"}`}, report.Rejected, "at least the role Developer"},
		"not found": {codehost.Fault{Status: 404, Body: `{"message":"404 Project Not Found"}`}, report.Rejected,
			"knows no commit 5ca1ab1e5ca1 in group/sub/project"},
		"bad": {codehost.Fault{Status: 400, Body: `{"message":{"name":["is too long"]}}`}, report.Rejected, "is too long"},
		"redirect": {codehost.Fault{Status: 302, Header: map[string]string{"Location": "https://evil.example.com/"}}, report.Rejected,
			"follows no redirect"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitLab(t)
			fake.Fail(&tc.fault)
			_, err := gitlab.New(fake.URL, outbound.New()).Post(t.Context(), request(fake.Token(), v1alpha1.ReportInProgress, ""))
			if got := problem(t, err); got.Kind != tc.kind || !strings.Contains(got.Message, tc.says) || strings.Contains(got.Message, "10.0.0.1") {
				t.Errorf("got %+v, want kind %d with %q", got, tc.kind, tc.says)
			}
			if len(fake.Requests()) != 1 {
				t.Errorf("%d requests", len(fake.Requests()))
			}
		})
	}
}

// TestTheTokenStaysAtItsHost: a redirect gets no request, and so no token.
func TestTheTokenStaysAtItsHost(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	fake := codehost.GitLab(t)
	for _, unsure := range []bool{false, true} { // the latter reads first
		for _, status := range []int{301, 302, 303, 307, 308} {
			fake.Fail(&codehost.Fault{Status: status, Header: map[string]string{"Location": other.URL}})
			before := len(fake.Requests())
			r := request(fake.Token(), v1alpha1.ReportInProgress, "")
			r.Unsure = unsure
			_, err := gitlab.New(fake.URL, outbound.New()).Post(t.Context(), r)
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
	fake := codehost.GitLab(t)
	fake.Fail(&codehost.Fault{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := gitlab.New(fake.URL, outbound.New()).Post(ctx, request(fake.Token(), v1alpha1.ReportInProgress, ""))
	if got := problem(t, err); got.Kind != report.Unavailable || got.Message != "GitLab does not answer" {
		t.Errorf("got %+v", got)
	}
}

func TestPathsAreEscaped(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths = append(paths, r.URL.EscapedPath()) }))
	defer server.Close()
	r := request("t", v1alpha1.ReportInProgress, "")
	r.Repository = "../../admin?x#y"
	_, _ = gitlab.New(server.URL, outbound.New()).Post(t.Context(), r)
	if diff := cmp.Diff([]string{"/api/v4/projects/%2E%2E%2F%2E%2E%2Fadmin%3Fx%23y/statuses/" + sha}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
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

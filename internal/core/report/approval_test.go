package report_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func approval(host v1alpha1.HostingService) report.ApprovalRequest {
	return report.ApprovalRequest{
		Request:     report.Request{Target: report.Target{Host: host, Repository: "acme/shop"}, Purpose: report.Approvals},
		Environment: "production", RunID: 7, DeploymentID: 8, State: report.StateApproved, Comment: "Passed.",
	}
}

func TestApprovalProblem(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		host   v1alpha1.HostingService
		change func(*report.ApprovalRequest)
		says   string // empty: it may be sent
	}{
		"on GitHub":                      {"all is known", v1alpha1.GitHub, func(*report.ApprovalRequest) {}, ""},
		"on GitLab":                      {"all is known", v1alpha1.GitLab, func(*report.ApprovalRequest) {}, ""},
		"on GitHub without a deployment": {"the run is enough", v1alpha1.GitHub, func(r *report.ApprovalRequest) { r.DeploymentID = 0 }, ""},
		"on GitHub without a run":        {"the deployment is not enough", v1alpha1.GitHub, func(r *report.ApprovalRequest) { r.RunID = 0 }, "the number"},
		"on GitLab without a run":        {"the deployment is enough", v1alpha1.GitLab, func(r *report.ApprovalRequest) { r.RunID = 0 }, ""},
		"on GitLab without a deployment": {"the run is not enough", v1alpha1.GitLab, func(r *report.ApprovalRequest) { r.DeploymentID = -8 }, "the number"},
		"a report of progress":           {"it decides nothing", v1alpha1.GitHub, func(r *report.ApprovalRequest) { r.State = "" }, ""},
		"another decision":               {"code hosts have two", v1alpha1.GitHub, func(r *report.ApprovalRequest) { r.State = "Approved\n" }, `no decision "Approved"`},
		"no environment":                 {"GitHub decides by its name", v1alpha1.GitHub, func(r *report.ApprovalRequest) { r.Environment = "" }, "the environment"},
	} {
		r := approval(tc.host)
		tc.change(&r)
		got := r.Problem()
		if (got == nil) != (tc.says == "") || got != nil && (got.Kind != report.Rejected || !strings.Contains(got.Message, tc.says)) {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
	}
}

func TestApprovalText(t *testing.T) {
	for _, host := range codehost.All() {
		r := approval(host.Name)
		for name, tc := range map[string]struct{ comment, want string }{
			"nothing":            {"", ""},
			"Markdown":           {"**Passed**: [smoke](https://ci.example.com)\r\n- a\n\n", "**Passed**: [smoke](https://ci.example.com)\n- a"},
			"control characters": {"a\x1b[31mb\u202e\x00c", "abc"},
			"the longest":        {strings.Repeat("x", host.ApprovalComment), strings.Repeat("x", host.ApprovalComment)},
			"one byte more":      {strings.Repeat("x", host.ApprovalComment+1), strings.Repeat("x", host.ApprovalComment-4) + "\n…"},
		} {
			if r.Comment = tc.comment; r.Text() != tc.want {
				t.Errorf("%s: %s: got %q", host.Name, name, r.Text())
			}
		}
		for _, letter := range []string{"é", "🚀", "x\xff"} {
			if r.Comment = strings.Repeat(letter, 70000); len(r.Text()) > host.ApprovalComment || !utf8.ValidString(r.Text()) || len(r.Text()) < host.ApprovalComment-10 {
				t.Errorf("%s: %d bytes of %q", host.Name, len(r.Text()), letter)
			}
		}
	}
	later := approval("Later")
	if later.Comment = "a long text"; len(later.Text()) > 8 {
		t.Errorf("for an unknown host: %q", later.Text())
	}
}

func TestOfFork(t *testing.T) {
	for name, tc := range map[string]struct {
		pending report.Pending
		want    bool
	}{
		"the same":               {report.Pending{Repository: "acme/shop", HeadRepository: "acme/shop"}, false},
		"in another spelling":    {report.Pending{Repository: "acme/shop", HeadRepository: "Acme/Shop"}, false},
		"a fork":                 {report.Pending{Repository: "acme/shop", HeadRepository: "ann/shop"}, true},
		"a fork that is gone":    {report.Pending{Repository: "acme/shop"}, true},
		"nothing is known":       {report.Pending{}, true},
		"letters that are alike": {report.Pending{Repository: "acme/kube", HeadRepository: "acme/\u212aube"}, true},
	} {
		if got := tc.pending.OfFork(); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestApprovalErrors: what an answer means for the decision. Only what the host says of a deployment that waits no longer is as good as
// delivered.
func TestApprovalErrors(t *testing.T) {
	const gone, done = "No pending custom deployment requests in workflow run `7` to approve or reject", "This deployment is not waiting for approvals."
	retry := http.Header{"Retry-After": {"30"}}
	for name, tc := range map[string]struct {
		host   v1alpha1.HostingService
		status int
		header http.Header
		text   string
		kind   report.Kind
		after  time.Duration
		says   string
	}{
		"GitHub waits no longer":        {v1alpha1.GitHub, 422, nil, gone, report.NotPending, 0, "GitHub says that the deployment in acme/shop waits for no decision"},
		"GitLab waits no longer":        {v1alpha1.GitLab, 400, nil, done, report.NotPending, 0, "GitLab says that the deployment in acme/shop waits for no decision"},
		"an older GitLab":               {v1alpha1.GitLab, 400, nil, "This deployment job is not waiting for approvals", report.NotPending, 0, "waits for no decision"},
		"the sentence of another host":  {v1alpha1.GitHub, 422, nil, done, report.Rejected, 0, "does not accept the approval (422 This deployment"},
		"the sentence and a failure":    {v1alpha1.GitHub, 500, nil, gone, report.Unavailable, 0, "GitHub failed (500)"},
		"the sentence and no right":     {v1alpha1.GitHub, 403, nil, gone, report.Rejected, 0, "needs the permissions to read actions and to write deployments there"},
		"an unknown host":               {"Later", 422, nil, gone, report.Rejected, 0, "does not accept the approval"},
		"too many reports":              {v1alpha1.GitHub, 422, nil, "The limit of status reports is reached", report.Rejected, 0, "does not accept the approval (422 The limit"},
		"no right on GitLab":            {v1alpha1.GitLab, 403, nil, "403 Forbidden", report.Rejected, 0, "to write approvals in acme/shop (403 403 Forbidden); the token needs the scope api, and its user must be an approver"},
		"the own deployment":            {v1alpha1.GitLab, 400, nil, "You cannot approve your own deployment.", report.Rejected, 0, "(400 You cannot approve your own deployment.)"},
		"an unknown run":                {v1alpha1.GitHub, 404, nil, "Not Found", report.Rejected, 0, "knows no such deployment in acme/shop, or these credentials may not see it (404 Not Found)"},
		"a wrong token":                 {v1alpha1.GitHub, 401, nil, "Bad credentials", report.Rejected, 0, "does not accept the credentials"},
		"another request":               {v1alpha1.GitLab, 409, nil, "", report.Conflict, 0, "another request"},
		"too many requests":             {v1alpha1.GitHub, 429, retry, "", report.Limited, 30 * time.Second, "asks to send less"},
		"too many requests as no right": {v1alpha1.GitHub, 403, retry, "", report.Limited, 30 * time.Second, "asks to send less"},
		"overloaded":                    {v1alpha1.GitLab, 503, retry, "", report.Unavailable, 30 * time.Second, "GitLab failed (503)"},
	} {
		header := tc.header
		if header == nil {
			header = http.Header{}
		}
		host := map[v1alpha1.HostingService]string{v1alpha1.GitLab: "GitLab"}[tc.host]
		if host == "" {
			host = "GitHub"
		}
		got := report.ErrorOf(host, approval(tc.host).Request, tc.status, header, tc.text)
		if got.Kind != tc.kind || got.RetryAfter != tc.after || !strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	check := approval(v1alpha1.GitHub).Request
	check.Purpose = report.Checks
	if got := report.ErrorOf("GitHub", check, 422, http.Header{}, gone); got.Kind != report.Rejected {
		t.Errorf("of a check, got %+v", got)
	}
}

// TestKinds: each kind has a word of its own for metrics.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for kind := report.Rejected; kind <= report.NotPending; kind++ {
		if word := kind.String(); word == "" || seen[word] || strings.Contains(word, " ") {
			t.Errorf("the word of %d is %q", kind, word)
		}
		seen[kind.String()] = true
	}
}

// TestApprovalsGoFirst: a deployment waits for them. An answer that it waits no longer is no failure of the host.
func TestApprovalsGoFirst(t *testing.T) {
	if got := report.Share(report.Approvals, nil); got != 100 {
		t.Errorf("got %d", got)
	}
	b := gitHubBudget()
	for range 5 {
		if wait := b.Take(100, noon); wait > 0 {
			t.Fatalf("after an answer, wait %s", wait)
		}
		b.Done(&report.Error{Kind: report.NotPending}, noon)
	}
}

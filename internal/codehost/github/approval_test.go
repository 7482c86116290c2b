package github_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	eventgithub "github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

const run = 6510844

func waiting() codehost.Waiting {
	return codehost.Waiting{Repository: "acme/shop", Environment: "production", SHA: sha, RunID: run}
}

func decision(state report.ApprovalState) report.ApprovalRequest {
	r := request(app(), "", "")
	r.Check = report.Check{}
	return report.ApprovalRequest{Request: r, Environment: "production", RunID: run, State: state, Comment: "**" + string(state) + "**: [smoke](https://ci.example.com)"}
}

func decisions(list []codehost.Decision) (states []string) {
	for _, d := range list {
		states = append(states, d.Environment+" "+d.State+" "+d.Comment)
	}
	return states
}

func TestReview(t *testing.T) {
	for _, state := range []report.ApprovalState{report.StateApproved, report.StateRejected} {
		fake := codehost.GitHub(t)
		fake.Wait(waiting())
		h := github.New(fake.URL, outbound.New())
		progress := decision("")
		progress.Comment = strings.Repeat("x", 70000)
		if err := h.Review(t.Context(), progress); err != nil {
			t.Fatal(err)
		}
		if err := h.Review(t.Context(), decision(state)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"production " + string(state) + " " + decision(state).Comment}, decisions(fake.Decisions(run))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := fake.Progress(run); len(got) != 1 || len(got[0].Comment) != 1024 {
			t.Errorf("got %d reports of progress", len(got))
		}
		if !fake.Saw("Bearer ") || fake.Requests()[2] != "POST /repos/acme/shop/actions/runs/6510844/deployment_protection_rule" || len(fake.Requests()) != 4 {
			t.Errorf("requests: %q", fake.Requests()) // installation, token, two writes
		}
	}
}

// TestReviewTwice: whatever was decided, and by whatever it ended, a later decision changes nothing, and counts as delivered.
func TestReviewTwice(t *testing.T) {
	for name, end := range map[string]func(*codehost.Host, *github.Host){
		"approved": func(_ *codehost.Host, h *github.Host) { _ = h.Review(t.Context(), decision(report.StateApproved)) },
		"rejected": func(_ *codehost.Host, h *github.Host) { _ = h.Review(t.Context(), decision(report.StateRejected)) },
		"canceled": func(fake *codehost.Host, _ *github.Host) { fake.Stop(run) },
		"an answer that was lost": func(fake *codehost.Host, h *github.Host) {
			fake.Fail(&codehost.Fault{Status: 502, Handled: true, Path: "/deployment_protection_rule"})
			if err := h.Review(t.Context(), decision(report.StateApproved)); problem(t, err).Kind != report.Unavailable {
				t.Errorf("got %v", err)
			}
			fake.Fail(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			fake.Wait(waiting())
			h := github.New(fake.URL, outbound.New())
			end(fake, h)
			before := decisions(fake.Decisions(run))
			for _, state := range []report.ApprovalState{report.StateApproved, report.StateRejected, ""} {
				if got := problem(t, h.Review(t.Context(), decision(state))); got.Kind != report.NotPending {
					t.Errorf("%s: got %+v", state, got)
				}
			}
			if diff := cmp.Diff(before, decisions(fake.Decisions(run))); diff != "" {
				t.Errorf("(-first +later):\n%s", diff)
			}
		})
	}
}

// TestReviewAtOnce: of decisions that are sent at the same time, GitHub takes one.
func TestReviewAtOnce(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	results := make(chan error, 10)
	for i := range cap(results) {
		state := []report.ApprovalState{report.StateApproved, report.StateRejected}[i%2]
		go func() { results <- github.New(fake.URL, outbound.New()).Review(t.Context(), decision(state)) }()
	}
	accepted := 0
	for range cap(results) {
		if err := <-results; err == nil {
			accepted++
		} else if got := problem(t, err); got.Kind != report.NotPending {
			t.Errorf("got %+v", got)
		}
	}
	if accepted != 1 || len(fake.Decisions(run)) != 1 {
		t.Errorf("%d accepted: %q", accepted, decisions(fake.Decisions(run)))
	}
}

// TestReviewOfJobs: a decision is about all jobs that wait at that moment in the environment, and about no other environment.
func TestReviewOfJobs(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	fake.Wait(waiting())
	staging := waiting()
	staging.Environment = "staging"
	fake.Wait(staging)
	h := github.New(fake.URL, outbound.New())
	if err := h.Review(t.Context(), decision(report.StateApproved)); err != nil {
		t.Fatal(err)
	}
	if got := problem(t, h.Review(t.Context(), decision(report.StateApproved))); got.Kind != report.NotPending {
		t.Errorf("got %+v", got)
	}
	fake.Wait(waiting()) // of another attempt of the workflow
	if err := h.Review(t.Context(), decision(report.StateRejected)); err != nil {
		t.Fatal(err)
	}
	now, err := h.Pending(t.Context(), report.ApprovalRequest{Request: decision("").Request, Environment: "Staging", RunID: run})
	if err != nil || !now.Waiting || len(fake.Decisions(run)) != 2 {
		t.Errorf("got %+v, %v after %q", now, err, decisions(fake.Decisions(run)))
	}
}

func TestReportsOfProgress(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	h := github.New(fake.URL, outbound.New())
	for i := range 10 {
		if err := h.Review(t.Context(), decision("")); err != nil {
			t.Fatalf("%d: %v", i+1, err)
		}
	}
	if got := problem(t, h.Review(t.Context(), decision(""))); got.Kind != report.Rejected || !strings.Contains(got.Message, "limit of status reports") {
		t.Errorf("got %+v", got)
	}
	if err := h.Review(t.Context(), decision(report.StateApproved)); err != nil {
		t.Errorf("after too many reports: %v", err)
	}
	if reports, all := len(fake.Progress(run)), len(fake.Decisions(run)); reports != 10 || all != 1 {
		t.Errorf("%d reports, %d decisions", reports, all)
	}
}

func TestPending(t *testing.T) {
	full := report.Pending{Waiting: true, SHA: sha, Repository: "acme/shop", HeadRepository: "acme/shop", Environment: "production", Event: "push"}
	for name, tc := range map[string]struct {
		reason string
		exists func(*codehost.Waiting)
		then   func(*codehost.Host)
		want   func(*report.Pending)
		fork   bool
	}{
		"waiting":              {"it waits for the App", nil, nil, func(*report.Pending) {}, false},
		"decided":              {"it waits for nothing", nil, func(h *codehost.Host) { h.Stop(run) }, func(p *report.Pending) { p.Waiting = false }, false},
		"decided by the App":   {"it waits for people", func(w *codehost.Waiting) { w.Reviewers = true }, func(h *codehost.Host) { h.Stop(run) }, func(*report.Pending) {}, false},
		"another environment":  {"the question is about this one", func(w *codehost.Waiting) { w.Environment = "staging" }, nil, func(p *report.Pending) { p.Waiting = false }, false},
		"names in capitals":    {"GitHub ignores the case of environments", func(w *codehost.Waiting) { w.Environment = "Production" }, nil, func(*report.Pending) {}, false},
		"a commit in capitals": {"commits are compared in lower case", func(w *codehost.Waiting) { w.SHA = strings.ToUpper(sha) }, nil, func(*report.Pending) {}, false},
		"a fork": {"its commits are of others", func(w *codehost.Waiting) { w.HeadRepository, w.Trigger = "ann/shop", "pull_request" }, nil,
			func(p *report.Pending) { p.HeadRepository, p.Event = "ann/shop", "pull_request" }, true},
		"a fork that is gone": {"GitHub does not know it any more", func(w *codehost.Waiting) { w.HeadRepository = "deleted" }, nil,
			func(p *report.Pending) { p.HeadRepository = "" }, true},
		"a hostile fork": {"its name is shown", func(w *codehost.Waiting) { w.HeadRepository = "ann/\u202e\n" + strings.Repeat("x", 9) }, nil,
			func(p *report.Pending) { p.HeadRepository = "ann/; xxxxxxxxx" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			w := waiting()
			if tc.exists != nil {
				tc.exists(&w)
			}
			fake.Wait(w)
			if tc.then != nil {
				tc.then(fake)
			}
			want := full
			tc.want(&want)
			for _, c := range []report.Credentials{app(), token(fake)} {
				r := decision("")
				r.Credentials = c
				got, err := github.New(fake.URL, outbound.New()).Pending(t.Context(), r)
				if diff := cmp.Diff(want, got); err != nil || diff != "" || got.OfFork() != tc.fork {
					t.Errorf("%s: fork %t, %v (-want +got):\n%s", tc.reason, got.OfFork(), err, diff)
				}
			}
			if len(fake.Decisions(run))+len(fake.Writes()) > 0 {
				t.Errorf("%s: something was written", tc.reason)
			}
		})
	}
}

// TestNothingIsSent: what cannot be decided costs no request.
func TestNothingIsSent(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	h := github.New(fake.URL, outbound.New())
	for name, change := range map[string]func(*report.ApprovalRequest){
		"no run":           func(r *report.ApprovalRequest) { r.RunID = 0 },
		"a negative run":   func(r *report.ApprovalRequest) { r.RunID = -1 },
		"no environment":   func(r *report.ApprovalRequest) { r.Environment = "" },
		"another decision": func(r *report.ApprovalRequest) { r.State = "maybe" },
	} {
		r := decision(report.StateApproved)
		change(&r)
		if got := problem(t, h.Review(t.Context(), r)); got.Kind != report.Rejected {
			t.Errorf("%s: got %+v", name, got)
		}
		if _, err := h.Pending(t.Context(), r); problem(t, err).Kind != report.Rejected {
			t.Errorf("%s: got %v", name, err)
		}
	}
	r := decision(report.StateApproved)
	r.Credentials = token(fake)
	if got := problem(t, h.Review(t.Context(), r)); got.Kind != report.Rejected || !strings.Contains(got.Message, "use the App instead of a token") {
		t.Errorf("with a token: got %+v", got)
	}
	if len(fake.Requests()) > 0 {
		t.Errorf("requests: %q", fake.Requests())
	}
}

func TestUnknownRun(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	h := github.New(fake.URL, outbound.New())
	for name, change := range map[string]func(*report.ApprovalRequest){
		"another run":          func(r *report.ApprovalRequest) { r.RunID++ },
		"a run of another one": func(r *report.ApprovalRequest) { r.Repository = "evil/shop" },
	} {
		r := decision(report.StateApproved)
		change(&r)
		for _, err := range []error{h.Review(t.Context(), r), func() error { _, err := h.Pending(t.Context(), r); return err }()} {
			if got := problem(t, err); got.Kind != report.Rejected || !strings.Contains(got.Message, "knows no such deployment in "+r.Repository) {
				t.Errorf("%s: got %+v", name, got)
			}
		}
	}
	if got := fake.Decisions(run); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestReviewErrors(t *testing.T) {
	limits := "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	for name, tc := range map[string]struct {
		fault codehost.Fault
		kind  report.Kind
		after time.Duration
		says  string
	}{
		"failed":          {codehost.Fault{Status: 500}, report.Unavailable, 0, "GitHub failed (500)"},
		"secondary limit": {codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "30"}, Body: `{"message":"x","documentation_url":"` + limits + `"}`}, report.Limited, 30 * time.Second, "secondary rate limit"},
		"too much":        {codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "30"}}, report.Limited, 30 * time.Second, "asks to send less"},
		"too many":        {codehost.Fault{Status: 429, Header: map[string]string{"Retry-After": "99999999"}}, report.Limited, time.Hour, "asks to send less"},
		"no right":        {codehost.Fault{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}, report.Rejected, 0, "to write approvals in acme/shop (403 Resource not accessible by integration); the App needs"},
		"unauthorized":    {codehost.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, report.Rejected, 0, "does not accept the credentials"},
		"conflict":        {codehost.Fault{Status: 409}, report.Conflict, 0, "another request"},
		"unprocessable":   {codehost.Fault{Status: 422, Body: `{"message":"Comment is too\nlong \u001b[31m"}`}, report.Rejected, 0, "does not accept the approval (422 Comment is too; long)"},
		"redirect":        {codehost.Fault{Status: 307, Header: map[string]string{"Location": "https://evil.example.com/"}}, report.Rejected, 0, "follows no redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			fake.Wait(waiting())
			tc.fault.Path, tc.fault.Times = "/actions/runs/", 1
			h := github.New(fake.URL, outbound.New())
			for _, send := range []func(context.Context, report.ApprovalRequest) error{h.Review, func(ctx context.Context, r report.ApprovalRequest) error {
				_, err := h.Pending(ctx, r)
				return err
			}} {
				fake.Fail(&tc.fault)
				got := problem(t, send(t.Context(), decision(report.StateApproved)))
				if got.Kind != tc.kind || got.RetryAfter != tc.after || !strings.Contains(got.Message, tc.says) {
					t.Errorf("got %+v, want kind %d after %s with %q", got, tc.kind, tc.after, tc.says)
				}
			}
			if len(fake.Decisions(run)) > 0 {
				t.Errorf("got %+v", fake.Decisions(run))
			}
			if err := h.Review(t.Context(), decision(report.StateApproved)); err != nil || len(fake.Decisions(run)) != 1 {
				t.Errorf("afterwards: %v, %+v", err, fake.Decisions(run))
			}
		})
	}
}

// TestOtherWords: if GitHub says in other words that nothing waits, its list says it, too.
func TestOtherWords(t *testing.T) {
	fault := codehost.Fault{Status: 422, Path: "/deployment_protection_rule", Body: `{"message":"Nothing to review"}`}
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	fake.Fail(&fault)
	h := github.New(fake.URL, outbound.New())
	if got := problem(t, h.Review(t.Context(), decision(report.StateApproved))); got.Kind != report.Rejected {
		t.Errorf("while it waits: got %+v", got)
	}
	fake.Stop(run)
	if got := problem(t, h.Review(t.Context(), decision(report.StateApproved))); got.Kind != report.NotPending {
		t.Errorf("afterwards: got %+v", got)
	}
	fault.Path = "/actions/"
	if got := problem(t, h.Review(t.Context(), decision(report.StateApproved))); got.Kind != report.Rejected {
		t.Errorf("without the list: got %+v", got)
	}
}

func TestReviewWithoutAnswer(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Wait(waiting())
	fake.Fail(&codehost.Fault{Path: "/actions/"})
	h := github.New(fake.URL, outbound.New())
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if got := problem(t, h.Review(ctx, decision(report.StateApproved))); got.Kind != report.Unavailable || got.Message != "GitHub does not answer" {
		t.Errorf("got %+v", got)
	}
	fake.Fail(&codehost.Fault{Reset: true, Path: "/actions/"})
	if got := problem(t, h.Review(t.Context(), decision(report.StateApproved))); got.Kind != report.Unavailable || got.Message != "GitHub cannot be reached" {
		t.Errorf("got %+v", got)
	}
	if len(fake.Decisions(run)) > 0 {
		t.Errorf("got %+v", fake.Decisions(run))
	}
}

// TestReviewPath: requests go to the configured API, whatever the names.
func TestReviewPath(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.EscapedPath())
		if strings.HasSuffix(r.URL.Path, "/access_tokens") {
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"token":"t","expires_at":"2099-01-01T00:00:00Z"}`))
		}
	}))
	defer server.Close()
	r := decision(report.StateApproved)
	r.Repository, r.Environment, r.Credentials.InstallationID = "ac me/x?y#z%2e", "../../admin?x#y", 34
	_ = github.New(server.URL+"/api/v3/", outbound.New()).Review(t.Context(), r)
	want := []string{"POST /api/v3/app/installations/34/access_tokens", "POST /api/v3/repos/ac%20me/x%3Fy%23z%252e/actions/runs/6510844/deployment_protection_rule"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestEventToDecision: what the fake sends is decoded to what it accepts a decision about.
func TestEventToDecision(t *testing.T) {
	for name, change := range map[string]func(*codehost.Waiting){
		"with a deployment": func(*codehost.Waiting) {}, "without one": func(w *codehost.Waiting) { w.NoDeployment = true },
	} {
		fake := codehost.GitHub(t)
		w := waiting()
		change(&w)
		w = fake.Wait(w)
		sent, err := w.Event().Deliver("http://127.0.0.1", "secret")
		if err != nil {
			t.Fatal(err)
		}
		e, err := eventgithub.Decode(sent.Header, w.Event().Body, event.Options{})
		if err != nil || e.Review == nil || e.Review.SHA != sha || e.Review.DeploymentID != w.DeploymentID {
			t.Fatalf("%s: got %+v, %v", name, e, err)
		}
		r := request(app(), v1alpha1.ReportQueued, "")
		r.Repository = e.Repository
		err = github.New(fake.URL, outbound.New()).Review(t.Context(), report.ApprovalRequest{
			Request: r, Environment: e.Review.Environment, RunID: e.Review.RunID, State: report.StateApproved, Comment: "Passed.",
		})
		if err != nil || len(fake.Decisions(run)) != 1 {
			t.Errorf("%s: %v, %+v", name, err, fake.Decisions(run))
		}
	}
}

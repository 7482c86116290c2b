package gitlab_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	eventgitlab "github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

const project = "group/sub/project"

func waiting() codehost.Waiting {
	return codehost.Waiting{Repository: project, Environment: "production", SHA: sha}
}

func decision(fake *codehost.Host, w codehost.Waiting, state report.ApprovalState) report.ApprovalRequest {
	return report.ApprovalRequest{
		Request: plain(fake, report.Approvals), Environment: "production", DeploymentID: w.DeploymentID, State: state,
		Comment: string(state) + ": https://ci.example.com",
	}
}

func states(list []codehost.Decision) (all []string) {
	for _, d := range list {
		all = append(all, d.State+" "+d.Comment)
	}
	return all
}

func TestReview(t *testing.T) {
	for _, state := range []report.ApprovalState{report.StateApproved, report.StateRejected} {
		fake := codehost.GitLab(t)
		w := fake.Wait(waiting())
		h := gitlab.New(fake.URL, outbound.New())
		if err := h.Review(t.Context(), decision(fake, w, "")); err != nil || len(fake.Requests()) > 0 {
			t.Errorf("of progress: %v after %q", err, fake.Requests())
		}
		r := decision(fake, w, state)
		r.Comment = strings.Repeat("é", 70000)
		if err := h.Review(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		got := fake.Decisions(w.DeploymentID)
		if len(got) != 1 || got[0].State != string(state) || got[0].Environment != "production" || len(got[0].Comment) > 255 {
			t.Errorf("got %+v", got)
		}
		if requests := fake.Requests(); len(requests) != 1 || requests[0] != "POST /api/v4/projects/group%2Fsub%2Fproject/deployments/1/approval" {
			t.Errorf("requests: %q", requests)
		}
	}
}

// TestReviewTwice: once the deployment waits no longer, a decision changes nothing, and counts as delivered.
func TestReviewTwice(t *testing.T) {
	for name, end := range map[string]func(*codehost.Host, *gitlab.Host, codehost.Waiting){
		"approved": func(fake *codehost.Host, h *gitlab.Host, w codehost.Waiting) {
			_ = h.Review(t.Context(), decision(fake, w, report.StateApproved))
		},
		"rejected": func(fake *codehost.Host, h *gitlab.Host, w codehost.Waiting) {
			_ = h.Review(t.Context(), decision(fake, w, report.StateRejected))
		},
		"canceled": func(fake *codehost.Host, _ *gitlab.Host, w codehost.Waiting) { fake.Stop(w.DeploymentID) },
		"an answer that was lost": func(fake *codehost.Host, h *gitlab.Host, w codehost.Waiting) {
			fake.Fail(&codehost.Fault{Status: 502, Handled: true, Path: "/approval"})
			if err := h.Review(t.Context(), decision(fake, w, report.StateApproved)); problem(t, err).Kind != report.Unavailable {
				t.Errorf("got %v", err)
			}
			fake.Fail(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitLab(t)
			w := fake.Wait(waiting())
			h := gitlab.New(fake.URL, outbound.New())
			end(fake, h, w)
			before := states(fake.Decisions(w.DeploymentID))
			for _, state := range []report.ApprovalState{report.StateApproved, report.StateRejected} {
				if got := problem(t, h.Review(t.Context(), decision(fake, w, state))); got.Kind != report.NotPending {
					t.Errorf("%s: got %+v", state, got)
				}
			}
			if now, err := h.Pending(t.Context(), decision(fake, w, "")); err != nil || now.Waiting {
				t.Errorf("got %+v, %v", now, err)
			}
			if diff := cmp.Diff(before, states(fake.Decisions(w.DeploymentID))); diff != "" {
				t.Errorf("(-first +later):\n%s", diff)
			}
		})
	}
}

// TestSeveralApprovals: as long as others must approve, GitLab takes the same decision again, and keeps one.
func TestSeveralApprovals(t *testing.T) {
	fake := codehost.GitLab(t)
	wanted := waiting()
	wanted.Approvals = 2
	w := fake.Wait(wanted)
	h := gitlab.New(fake.URL, outbound.New())
	for range 2 {
		if err := h.Review(t.Context(), decision(fake, w, report.StateApproved)); err != nil {
			t.Fatal(err)
		}
	}
	now, err := h.Pending(t.Context(), decision(fake, w, ""))
	if err != nil || !now.Waiting || len(fake.Decisions(w.DeploymentID)) != 1 {
		t.Errorf("got %+v, %v after %q", now, err, states(fake.Decisions(w.DeploymentID)))
	}
}

func TestRefusedReview(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*codehost.Waiting)
		says   string
	}{
		"the own deployment": {func(w *codehost.Waiting) { w.Own = true }, "does not accept the approval (400 {message: You cannot approve your own deployment."},
	} {
		fake := codehost.GitLab(t)
		w := waiting()
		tc.change(&w)
		w = fake.Wait(w)
		h := gitlab.New(fake.URL, outbound.New())
		if got := problem(t, h.Review(t.Context(), decision(fake, w, report.StateApproved))); got.Kind != report.Rejected || !strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: got %+v", name, got)
		}
		if err := h.Review(t.Context(), decision(fake, w, report.StateRejected)); err != nil {
			t.Errorf("%s: a rejection: %v", name, err)
		}
	}
}

// TestOtherLanguages: GitLab gives reasons in the language of the user, so the deployment says whether it waits.
func TestOtherLanguages(t *testing.T) {
	fault := codehost.Fault{Status: 400, Path: "/approval", Body: `{"message":"Diese Bereitstellung wartet nicht auf Genehmigungen."}`}
	fake := codehost.GitLab(t)
	w := fake.Wait(waiting())
	h := gitlab.New(fake.URL, outbound.New())
	fake.Fail(&fault)
	if got := problem(t, h.Review(t.Context(), decision(fake, w, report.StateApproved))); got.Kind != report.Rejected {
		t.Errorf("while it waits: got %+v", got)
	}
	fake.Stop(w.DeploymentID)
	if got := problem(t, h.Review(t.Context(), decision(fake, w, report.StateApproved))); got.Kind != report.NotPending {
		t.Errorf("afterwards: got %+v", got)
	}
	fault.Path = ""
	if got := problem(t, h.Review(t.Context(), decision(fake, w, report.StateApproved))); got.Kind != report.Rejected {
		t.Errorf("without the deployment: got %+v", got)
	}
}

func TestPending(t *testing.T) {
	full := report.Pending{Waiting: true, SHA: sha, Repository: project, HeadRepository: project, Environment: "production", Event: "push"}
	for name, tc := range map[string]struct {
		reason string
		change func(*codehost.Waiting)
		want   func(*report.Pending)
		fork   bool
	}{
		"blocked":             {"it waits for an approval", func(*codehost.Waiting) {}, func(*report.Pending) {}, false},
		"a manual job":        {"it waits for somebody who runs it", func(w *codehost.Waiting) { w.Manual = true }, func(p *report.Pending) { p.Waiting = false }, false},
		"another environment": {"the question is about this one", func(w *codehost.Waiting) { w.Environment = "staging" }, func(p *report.Pending) { p.Waiting, p.Environment = false, "staging" }, false},
		"in another case":     {"GitLab tells them apart", func(w *codehost.Waiting) { w.Environment = "Production" }, func(p *report.Pending) { p.Waiting, p.Environment = false, "Production" }, false},
		"a merge request": {"its commit may be of a fork", func(w *codehost.Waiting) { w.Ref, w.Trigger = "refs/merge-requests/5/head", "merge_request_event" },
			func(p *report.Pending) { p.HeadRepository, p.Event = "", "merge_request_event" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitLab(t)
			w := waiting()
			tc.change(&w)
			w = fake.Wait(w)
			want := full
			tc.want(&want)
			got, err := gitlab.New(fake.URL, outbound.New()).Pending(t.Context(), decision(fake, w, ""))
			if diff := cmp.Diff(want, got); err != nil || diff != "" || got.OfFork() != tc.fork {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
			if requests := fake.Requests(); len(requests) != 1 || requests[0] != "GET /api/v4/projects/group%2Fsub%2Fproject/deployments/1" {
				t.Errorf("requests: %q", requests)
			}
		})
	}
	fake := codehost.GitLab(t)
	id := fake.HasDeployment(project, "production", sha, "blocked")
	got, err := gitlab.New(fake.URL, outbound.New()).Pending(t.Context(), decision(fake, codehost.Waiting{DeploymentID: id}, ""))
	if err != nil || got.Waiting || got.SHA != sha {
		t.Errorf("without a license for approvals: got %+v, %v", got, err)
	}
}

// TestBlocked: GitLab before 19.3 sends no event, so the list says what events would.
func TestBlocked(t *testing.T) {
	fake := codehost.GitLab(t)
	h := gitlab.New(fake.URL, outbound.New())
	if got, err := h.Blocked(t.Context(), plain(fake, report.Approvals), "production"); err != nil || len(got) > 0 {
		t.Errorf("of none: %+v, %v", got, err)
	}
	fake.HasDeployment("group/other", "production", sha, "blocked")
	staging := waiting()
	staging.Environment = "staging"
	fake.Wait(staging)
	for range 150 { // manual jobs that nobody runs
		fake.HasDeployment(project, "production", "b"+sha[1:], "blocked")
	}
	odd := waiting()
	odd.SHA, odd.Ref = "main", "a\u202e\nb"
	strange, newest := fake.Wait(odd), fake.Wait(waiting())
	fake.HasDeployment(project, "production", sha, "success")
	got, err := h.Blocked(t.Context(), plain(fake, report.Approvals), "production")
	if err != nil || len(got) != 100 {
		t.Fatalf("%d, %v", len(got), err)
	}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	want := []event.Review{
		{Environment: "production", SHA: sha, Ref: "main", DeploymentID: newest.DeploymentID, By: "GitLab: ann", CreatedAt: at},
		{Environment: "production", Ref: "a; b", DeploymentID: strange.DeploymentID, By: "GitLab: ann", CreatedAt: at},
	}
	if diff := cmp.Diff(want, got[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEventAndList: both ways tell the same of a deployment.
func TestEventAndList(t *testing.T) {
	fake := codehost.GitLab(t)
	w := fake.Wait(waiting())
	e, err := eventgitlab.Decode(http.Header{}, w.HookBody(), event.Options{})
	if err != nil || e.Review == nil {
		t.Fatalf("got %+v, %v", e, err)
	}
	list, err := gitlab.New(fake.URL, outbound.New()).Blocked(t.Context(), plain(fake, report.Approvals), "production")
	if err != nil || len(list) != 1 {
		t.Fatalf("got %+v, %v", list, err)
	}
	list[0].CreatedAt = e.Review.CreatedAt // the event has the moment at which it was blocked
	if diff := cmp.Diff(*e.Review, list[0]); diff != "" {
		t.Errorf("(-event +list):\n%s", diff)
	}
}

func TestReviewErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		fault codehost.Fault
		kind  report.Kind
		after time.Duration
		says  string
	}{
		"failed":       {codehost.Fault{Status: 500, Body: "<html>10.0.0.1</html>"}, report.Unavailable, 0, "GitLab failed (500)"},
		"too many":     {codehost.Fault{Status: 429, Header: map[string]string{"Retry-After": "7"}}, report.Limited, 7 * time.Second, "asks to send less"},
		"too much":     {codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "30"}}, report.Limited, 30 * time.Second, "asks to send less"},
		"conflict":     {codehost.Fault{Status: 409}, report.Conflict, 0, "another request"},
		"unauthorized": {codehost.Fault{Status: 401, Body: `{"message":"401 Unauthorized"}`}, report.Rejected, 0, "does not accept the credentials"},
		"forbidden":    {codehost.Fault{Status: 403, Body: `{"message":"403 Forbidden"}`}, report.Rejected, 0, "its user must be an approver of the environment"},
		"not found":    {codehost.Fault{Status: 404, Body: `{"message":"404 Not Found"}`}, report.Rejected, 0, "knows no such deployment in group/sub/project"},
		"redirect":     {codehost.Fault{Status: 302, Header: map[string]string{"Location": "https://evil.example.com/"}}, report.Rejected, 0, "follows no redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitLab(t)
			w := fake.Wait(waiting())
			h := gitlab.New(fake.URL, outbound.New())
			tc.fault.Times = 1
			for _, send := range []func(report.ApprovalRequest) error{
				func(r report.ApprovalRequest) error { return h.Review(t.Context(), r) },
				func(r report.ApprovalRequest) error { _, err := h.Pending(t.Context(), r); return err },
				func(r report.ApprovalRequest) error {
					_, err := h.Blocked(t.Context(), r.Request, "production")
					return err
				},
			} {
				fake.Fail(&tc.fault)
				got := problem(t, send(decision(fake, w, report.StateApproved)))
				if got.Kind != tc.kind || got.RetryAfter != tc.after || !strings.Contains(got.Message, tc.says) || strings.Contains(got.Message, "10.0.0.1") {
					t.Errorf("got %+v, want kind %d after %s with %q", got, tc.kind, tc.after, tc.says)
				}
			}
			if err := h.Review(t.Context(), decision(fake, w, report.StateApproved)); err != nil || len(fake.Decisions(w.DeploymentID)) != 1 {
				t.Errorf("afterwards: %v, %+v", err, fake.Decisions(w.DeploymentID))
			}
		})
	}
}

func TestReviewWithoutAnswer(t *testing.T) {
	fake := codehost.GitLab(t)
	w := fake.Wait(waiting())
	fake.Fail(&codehost.Fault{Path: "/approval"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	got := problem(t, gitlab.New(fake.URL, outbound.New()).Review(ctx, decision(fake, w, report.StateApproved)))
	if got.Kind != report.Unavailable || got.Message != "GitLab does not answer" || len(fake.Decisions(w.DeploymentID)) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestNothingIsSent: what cannot be decided costs no request.
func TestNothingIsSent(t *testing.T) {
	fake := codehost.GitLab(t)
	h := gitlab.New(fake.URL, outbound.New())
	for name, change := range map[string]func(*report.ApprovalRequest){
		"no deployment":    func(r *report.ApprovalRequest) { r.DeploymentID = 0 },
		"no environment":   func(r *report.ApprovalRequest) { r.Environment = "" },
		"another decision": func(r *report.ApprovalRequest) { r.State = "maybe" },
	} {
		r := decision(fake, codehost.Waiting{DeploymentID: 1}, report.StateApproved)
		change(&r)
		if got := problem(t, h.Review(t.Context(), r)); got.Kind != report.Rejected {
			t.Errorf("%s: got %+v", name, got)
		}
		if _, err := h.Pending(t.Context(), r); problem(t, err).Kind != report.Rejected {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if len(fake.Requests()) > 0 {
		t.Errorf("requests: %q", fake.Requests())
	}
}

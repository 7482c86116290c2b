package gitlab_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

const marker = "<!-- postflight acme -->"

func plain(fake *codehost.Host, p report.Purpose) report.Request {
	r := request(fake.Token(), "", "")
	r.Check, r.Purpose = report.Check{}, p
	return r
}

func deployment(fake *codehost.Host, state string) report.DeploymentRequest {
	return report.DeploymentRequest{Request: plain(fake, report.Deployments), Deployment: report.Deployment{
		Environment: "staging", State: state, Newest: true,
	}}
}

// deploys makes the requests in order, each with the number that the one before returned.
func deploys(t *testing.T, h *gitlab.Host, requests ...report.DeploymentRequest) (id int64) {
	t.Helper()
	for _, r := range requests {
		r.ID = id
		got, more, err := h.Deploy(t.Context(), r)
		if err != nil || more {
			t.Fatalf("%s: got more %t, %v", r.Deployment.State, more, err)
		}
		id = got
	}
	return id
}

func TestDeployments(t *testing.T) {
	for end, want := range map[string]string{
		v1alpha1.ReasonPassed: "success", v1alpha1.ReasonFailed: "failed", v1alpha1.ReasonTimedOut: "failed",
		v1alpha1.ReasonCanceled: "canceled", v1alpha1.ReasonSuperseded: "canceled", v1alpha1.ReasonError: "failed", "Unknown": "failed",
	} {
		fake := codehost.GitLab(t)
		h := gitlab.New(fake.URL, outbound.New())
		running, ended := deployment(fake, v1alpha1.ReasonRunning), deployment(fake, end)
		deploys(t, h, running, running, ended, ended, running) // the last one is another attempt
		if diff := cmp.Diff([][]string{{"running", want}}, fake.Deployments("staging", sha)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", end, diff)
		}
	}
}

// TestDeploymentsOfJobs: GitLab does not allow to change the deployment of a job, so there is another one beside it.
func TestDeploymentsOfJobs(t *testing.T) {
	fake := codehost.GitLab(t)
	h := gitlab.New(fake.URL, outbound.New())
	fake.HasDeployment("group/sub/project", "staging", sha, "success")
	first := deploys(t, h, deployment(fake, v1alpha1.ReasonRunning))
	second := deploys(t, gitlab.New(fake.URL, outbound.New()), deployment(fake, v1alpha1.ReasonPassed)) // which it looks for
	if first != second {
		t.Errorf("the deployments are %d and %d", first, second)
	}
	if diff := cmp.Diff([][]string{{"success"}, {"running", "success"}}, fake.Deployments("staging", sha)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoDeployment(t *testing.T) {
	fake := codehost.GitLab(t)
	older := deployment(fake, v1alpha1.ReasonPassed)
	older.Deployment.Newest = false
	for _, r := range []report.DeploymentRequest{older, deployment(fake, v1alpha1.ReasonCanceled),
		deployment(fake, v1alpha1.ReasonSuperseded)} {
		if id := deploys(t, gitlab.New(fake.URL, outbound.New()), r); id != 0 || len(fake.Requests()) > 0 {
			t.Errorf("%s: got the deployment %d, after %q", r.Deployment.State, id, fake.Requests())
		}
	}
}

func TestMergeRequest(t *testing.T) {
	cases := map[string]struct {
		exist  codehost.PullRequest
		number int64
		branch string
		want   bool
	}{
		"of the branch and the commit": {codehost.PullRequest{Number: 5, Branch: "cart", SHA: sha}, 0, "cart", true},
		"of another branch":            {codehost.PullRequest{Number: 5, Branch: "cart", SHA: sha}, 0, "main", false},
		"merged":                       {codehost.PullRequest{Number: 5, Branch: "cart", SHA: sha, Closed: true}, 0, "cart", false},
		"notified":                     {codehost.PullRequest{Number: 5}, 5, "main", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitLab(t)
			fake.Open(tc.exist)
			r := plain(fake, report.Comments)
			r.PullRequest, r.Branch = tc.number, tc.branch
			got, err := gitlab.New(fake.URL, outbound.New()).PullRequest(t.Context(), r)
			if err != nil || (got != nil) != tc.want {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got != nil && got.URL != "https://gitlab.com/group/sub/project/-/merge_requests/5" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestComment(t *testing.T) {
	fake := codehost.GitLab(t)
	fake.Open(codehost.PullRequest{Number: 5})
	for i := range 120 { // more than a page
		fake.Say("group/sub/project", 5, codehost.Stranger, fmt.Sprint("looks good ", i))
	}
	fake.Say("group/sub/project", 5, codehost.Stranger, marker+"\nAll tests passed")
	h := gitlab.New(fake.URL, outbound.New())
	say := func(text string, id int64) int64 {
		t.Helper()
		got, err := h.Comment(t.Context(), report.CommentRequest{
			Request: plain(fake, report.Comments), Number: 5, ID: id, Marker: marker, Body: marker + "\n" + text,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	id := say("one", 0)
	say("two", id)
	say("two", id) // nothing to do
	if got := say("three", 0); got != id {
		t.Errorf("without the number, the comment %d is used, want %d", got, id)
	}
	if diff := cmp.Diff([]string{marker + "\nthree"}, fake.Comments(5)[121:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if writes := len(fake.CommentWrites()); writes != 3 {
		t.Errorf("%d writes", writes)
	}
	fake.RemoveComments(5)
	if say("four", id); !cmp.Equal([]string{marker + "\nfour"}, fake.Comments(5)) {
		t.Errorf("after the comment was deleted, there are %q", fake.Comments(5))
	}
}

// TestTwoLeadersComment: of comments that are created at the same time, one is left, with what was written last.
func TestTwoLeadersComment(t *testing.T) {
	for range 10 {
		fake := codehost.GitLab(t)
		fake.Open(codehost.PullRequest{Number: 5})
		say := func(text string) {
			if _, err := gitlab.New(fake.URL, outbound.New()).Comment(t.Context(), report.CommentRequest{
				Request: plain(fake, report.Comments), Number: 5, Marker: marker, Body: marker + "\n" + text,
			}); err != nil {
				t.Error(err)
			}
		}
		var leaders sync.WaitGroup
		leaders.Go(func() { say("one") })
		leaders.Go(func() { say("two") })
		leaders.Wait()
		say("end")
		if diff := cmp.Diff([]string{marker + "\nend"}, fake.Comments(5)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestRefusedBeside(t *testing.T) {
	fake := codehost.GitLab(t)
	fake.Fail(&codehost.Fault{Status: 403, Body: `{"message":"403 Forbidden"}`})
	h := gitlab.New(fake.URL, outbound.New())
	_, _, err := h.Deploy(t.Context(), deployment(fake, v1alpha1.ReasonRunning))
	if got := problem(t, err); got.Kind != report.Rejected || !strings.Contains(got.Message, "to write deployments in group/sub/project") {
		t.Errorf("got %+v", got)
	}
	r := plain(fake, report.Comments)
	_, err = h.Comment(t.Context(), report.CommentRequest{Request: r, Number: 5, Marker: marker, Body: marker})
	if got := problem(t, err); got.Kind != report.Rejected || !strings.Contains(got.Message, "to write comments in group/sub/project") {
		t.Errorf("got %+v", got)
	}
}

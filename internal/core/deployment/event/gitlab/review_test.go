package gitlab_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/test/payload"
)

// blockedWith is the changes of a deployment that is blocked, and others.
func blockedWith(changes values) values {
	all := values{"status": "blocked"}
	for path, value := range changes {
		all[path] = value
	}
	return all
}

func TestReview(t *testing.T) {
	full := func(change func(*event.Review)) event.Review {
		r := event.Review{Environment: "staging", SHA: sha, Ref: "main", DeploymentID: 15, By: "GitLab: ann", CreatedAt: noon}
		change(&r)
		return r
	}
	for name, tc := range map[string]struct {
		reason  string
		changes values
		want    event.Review
	}{
		"as GitLab sends it":  {"every member has its place", nil, full(func(*event.Review) {})},
		"the commit is gone":  {"the deployment names it", values{"commit_url": nil, "commit_title": nil, "short_sha": nil}, full(func(r *event.Review) { r.SHA = "" })},
		"the account is gone": {"it is only shown", values{"user": nil, "user_url": nil}, full(func(r *event.Review) { r.By = "GitLab:" })},
		"of a merge request":  {"its ref says so", values{"ref": "refs/merge-requests/5/head"}, full(func(r *event.Review) { r.Ref = "refs/merge-requests/5/head" })},
		"without a ref":       {"older versions have none", values{"ref": nil}, full(func(r *event.Review) { r.Ref = "" })},
		"a review app":        {"its name has a slash", values{"environment": "review/login"}, full(func(r *event.Review) { r.Environment = "review/login" })},
		"at an unknown time":  {"it is only shown", values{"status_changed_at": "yesterday"}, full(func(r *event.Review) { r.CreatedAt = time.Time{} })},
		"a hostile name": {"it is shown to people", values{"user.username": "ann\u202e\n::error::" + strings.Repeat("x", 65536)}, full(func(r *event.Review) {
			r.By = "GitLab: ann; ::error::xxxxxxxxxxxxxxx … xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		})},
		"a commit in capitals": {"commits are compared in lower case", values{"commit_url": "https://gitlab.example.com/acme/web/shop/-/commit/" + strings.ToUpper(sha)}, full(func(*event.Review) {})},
		"members of approvals": {"only other events have them", values{"approver": values{"username": "jo"}, "approval": nil}, full(func(*event.Review) {})},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gitlab.Decode(headers(), payload.With(t, ofDeployment, blockedWith(tc.changes)), event.Options{
				Environments: map[string]string{"staging": "preprod"},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := event.Event{
				Review: &tc.want, At: tc.want.CreatedAt, ID: "gitlab/deployment/15/blocked", Type: "deployment", Delivery: eventID,
				Repository: "acme/web/shop",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestApprovalsAreIgnored: GitLab tells of the decisions that it takes, too.
func TestApprovalsAreIgnored(t *testing.T) {
	for _, status := range []string{"approved", "rejected", "Blocked", "created"} {
		e, err := gitlab.Decode(headers(), payload.With(t, ofDeployment, values{"status": status}), event.Options{})
		if err != nil || e.Review != nil || e.Notification != nil || !strings.Contains(e.Ignored, status) {
			t.Errorf("%s: got %+v, %v", status, e, err)
		}
	}
}

func TestReviewInvalid(t *testing.T) {
	const lacks, form = "lacks the environment", "begins with short_sha"
	for name, tc := range map[string]struct {
		changes values
		says    string
	}{
		"no environment":              {values{"environment": nil}, lacks},
		"no deployment":               {values{"deployment_id": nil}, lacks},
		"a negative deployment":       {values{"deployment_id": -1}, lacks},
		"a deployment of text":        {values{"deployment_id": "15"}, "not the JSON"},
		"no project":                  {values{"project.path_with_namespace": nil}, lacks},
		"another commit":              {values{"short_sha": "deadbeef"}, form},
		"a commit of another project": {values{"commit_url": "https://gitlab.example.com/evil/shop/-/commit/" + sha}, form},
		"a commit of another host":    {values{"commit_url": "https://evil.example.com/acme/web/shop/-/commit/" + sha}, form},
		"a long ref":                  {values{"ref": strings.Repeat("r", 65536)}, "branch is 65536 bytes long"},
		"a ref with a line end":       {values{"ref": "main\nevil"}, "branch"},
		"a long environment":          {values{"environment": strings.Repeat("x", 300)}, "deployment_type"},
		"a user of text":              {values{"user": "ann"}, "not the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := gitlab.Decode(headers(), payload.With(t, ofDeployment, blockedWith(tc.changes)), event.Options{})
			var invalid *event.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tc.says) || e.Review != nil {
				t.Fatalf("got %+v, %v", e, err)
			}
			isSentence(t, err.Error())
		})
	}
}

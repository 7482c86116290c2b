package trust_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// notProven is a push to the branch of a merge queue: nothing shows that GitHub made the branch.
const notProven = "push_merge_queue"

// ofAnotherCommit are the jobs of GitHub Actions whose token has another commit than they deploy. docs/keyless.md lists their events.
var ofAnotherCommit = []string{
	"pull_request", "pull_request_review", "pull_request_target", "check_run", "check_suite", "status",
	"workflow_run", "workflow_run_push_with_open_pull", "workflow_run_pull", "workflow_run_fork", "workflow_run_deleted_fork",
	"workflow_run_merge_group",
}

// TestDetectedAndTokenAgree: what the command line detects in a job is what the token of the job proves, or it is refused with advice.
func TestDetectedAndTokenAgree(t *testing.T) {
	text, err := os.ReadFile("../../deployment/ci/testdata/github.json")
	if err != nil {
		t.Fatal(err)
	}
	var jobs map[string]struct {
		Env   map[string]string `json:"env"`
		Event json.RawMessage   `json:"event"`
	}
	if err := json.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			detected := ci.Detect(func(name string) string { return job.Env[name] }, job.Event)
			sent := &notification.Notification{SHA: detected.SHA, Branch: detected.Branch, Repository: detected.Repository}
			token := parse(t, ofGitHub(object{"sha": job.Env["GITHUB_SHA"], "ref": job.Env["GITHUB_REF"], "event_name": job.Env["GITHUB_EVENT_NAME"],
				"ref_type": job.Env["GITHUB_REF_TYPE"], "head_ref": job.Env["GITHUB_HEAD_REF"], "base_ref": job.Env["GITHUB_BASE_REF"]}))
			d := decide(token, []*v1alpha1.TrustPolicy{policy("p")}, trust.Asked{})
			if d.Policy == nil {
				t.Fatalf("%s %q", d.Problem, d.Reasons)
			}
			problem := d.Grant.NotificationProblem(sent)
			if name == notProven {
				if !strings.Contains(problem, "issued for the branch gh-readonly-queue/main") {
					t.Errorf("%q", problem)
				}
				return
			}
			if !slices.Contains(ofAnotherCommit, name) {
				if problem != "" {
					t.Error(problem)
				}
				return
			}
			for _, says := range []string{"issued for the commit " + job.Env["GITHUB_SHA"], "commitClaim",
				strings.TrimSuffix(job.Env["GITHUB_EVENT_NAME"], "_review")} {
				if !strings.Contains(problem, says) {
					t.Errorf("%q lacks %q", problem, says)
				}
			}
		})
	}
}

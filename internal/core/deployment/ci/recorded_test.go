package ci_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
)

// The commit that was deployed, and others. See testdata/README.md.
var (
	deployed = strings.Repeat("1", 40)
	newest   = strings.Repeat("2", 40)
	merge    = strings.Repeat("3", 40)
)

// onGitHub is a job of GitHub Actions. Without a commit, there is no link.
func onGitHub(sha, branch string, pullRequest int, message ...string) ci.Context {
	c := ci.Context{System: "GitHub Actions", HostingService: "GitHub", Repository: "acme/shop", SHA: sha, Branch: branch,
		PullRequestNumber: pullRequest}
	if sha != "" {
		c.CommitURL = "https://github.com/acme/shop/commit/" + sha
	}
	if len(message) > 0 {
		c.CommitMessage, c.CommitAuthor = message[0], "Ann Lee"
	}
	return c
}

func onGitLab(branch string, mergeRequest int, message ...string) ci.Context {
	c := ci.Context{System: "GitLab CI", HostingService: "GitLab", Repository: "acme/web/shop", SHA: deployed, Branch: branch,
		PullRequestNumber: mergeRequest, CommitURL: "https://gitlab.example.com/acme/web/shop/-/commit/" + deployed}
	if len(message) > 0 {
		c.CommitMessage, c.CommitAuthor = message[0], "Ann Lee <ann@example.com>"
	}
	return c
}

// elsewhere is a job of a system that builds the repository acme/shop of GitHub.
func elsewhere(system, branch string, pullRequest int, message ...string) ci.Context {
	c := ci.Context{System: system, HostingService: "GitHub", Repository: "acme/shop", SHA: deployed, Branch: branch,
		PullRequestNumber: pullRequest}
	if len(message) > 0 {
		c.CommitMessage = message[0]
	}
	return c
}

var recorded = map[string]map[string]ci.Context{
	"github": {
		"push":                             onGitHub(deployed, "main", 0, "Fix login\n\nThe session was lost."),
		"push_tag":                         onGitHub(deployed, "", 0, "Release 1.2"),
		"push_merge_queue":                 onGitHub(deployed, "main", 42, "Merge pull request #42"),
		"pull_request":                     onGitHub(deployed, "feature/cart", 7),
		"pull_request_merged":              onGitHub(merge, "main", 7), // its head is not deployed, and may differ
		"pull_request_target":              onGitHub(deployed, "feature/cart", 7),
		"pull_request_review":              onGitHub(deployed, "feature/cart", 7),
		"workflow_dispatch":                onGitHub(deployed, "release/1.2", 0),
		"schedule":                         onGitHub(newest, "main", 0),
		"repository_dispatch":              onGitHub(newest, "main", 0), // the sender decides what client_payload says
		"release":                          onGitHub(deployed, "", 0),
		"workflow_run":                     onGitHub(deployed, "release/1.2", 0, "Fix login"),
		"workflow_run_push_with_open_pull": onGitHub(deployed, "main", 0, "Fix login"), // as in the push itself
		"workflow_run_pull":                onGitHub(deployed, "feature/cart", 7, "Fix login"),
		"workflow_run_fork":                onGitHub(deployed, "octocat:main", 0, "Fix login"), // GitHub does not say its number
		"workflow_run_deleted_fork":        onGitHub(deployed, "", 0, "Fix login"),
		"workflow_run_merge_group":         onGitHub(deployed, "main", 42, "Fix login"),
		"merge_group":                      onGitHub(deployed, "main", 42, "Merge pull request #42 from acme/feature/cart"),
		"merge_group_release":              onGitHub(deployed, "release/1.2", 42, "Merge pull request #42 from acme/feature/cart"),
		"deployment":                       onGitHub(deployed, "release/1.2", 0),
		"deployment_of_a_tag":              onGitHub(deployed, "", 0),
		"deployment_status":                onGitHub(deployed, "main", 0),
		"deployment_status_of_a_commit":    onGitHub(deployed, "", 0),
		"check_run":                        onGitHub(deployed, "feature/cart", 7),
		"check_suite":                      onGitHub(deployed, "release/1.2", 0, "Fix login"),
		"status":                           onGitHub(deployed, "feature/cart", 0),
		"issue_comment":                    onGitHub(newest, "main", 0),
		"issue_comment_on_a_pull":          onGitHub("", "", 7), // the event does not say the head
	},
	"gitlab": {
		"branch":                 onGitLab("main", 0, "Fix login"),
		"schedule":               onGitLab("main", 0, "Fix login"),
		"tag":                    onGitLab("", 0, "Fix login"),
		"merge request":          onGitLab("feature/cart", 12, "Fix login"),
		"merged results":         onGitLab("feature/cart", 12),
		"merge train":            onGitLab("feature/cart", 12),
		"child":                  onGitLab("main", 0, "Fix login"),
		"child of merge request": onGitLab("feature/cart", 12, "Fix login"),
	},
	"buildkite": {
		"branch":       byAnn(elsewhere("Buildkite", "main", 0, "Fix login")),
		"pull request": byAnn(elsewhere("Buildkite", "feature/cart", 7, "Fix login")),
		"fork":         byAnn(elsewhere("Buildkite", "octocat:main", 7, "Fix login")),
		"tag":          byAnn(elsewhere("Buildkite", "", 0, "Fix login")),
		"merge queue":  byAnn(elsewhere("Buildkite", "main", 42, "Fix login")),
	},
	"circleci": {
		"branch":       elsewhere("CircleCI", "main", 0),
		"pull request": elsewhere("CircleCI", "feature/cart", 7),
		"fork":         elsewhere("CircleCI", "", 7),
		"tag":          elsewhere("CircleCI", "", 0),
		"merge queue":  elsewhere("CircleCI", "main", 42),
	},
	"jenkins": {
		"multibranch":  elsewhere("Jenkins", "release/1.2", 0),
		"pull request": elsewhere("Jenkins", "feature/cart", 7),
		"tag":          elsewhere("Jenkins", "", 0),
		"merge queue":  elsewhere("Jenkins", "main", 42),
		"classic":      elsewhere("Jenkins", "release/1.2", 0),
	},
	"azure": {
		"branch":             elsewhere("Azure Pipelines", "release/1.2", 0, "Fix login"),
		"tag":                elsewhere("Azure Pipelines", "", 0, "Fix login"),
		"pull request":       elsewhere("Azure Pipelines", "feature/cart", 7),
		"merge queue":        elsewhere("Azure Pipelines", "main", 42, "Fix login"),
		"repos":              inAzureRepos("main", 0, "Fix login"),
		"repos pull request": inAzureRepos("feature/cart", 7, ""),
	},
	"bitbucket": {
		"branch":       onBitbucket("main", 0),
		"pull request": onBitbucket("feature/cart", 7),
		"tag":          onBitbucket("", 0),
	},
	"tekton": {"task": {}},
}

func byAnn(c ci.Context) ci.Context {
	c.CommitAuthor = "Ann Lee"
	return c
}

func inAzureRepos(branch string, pullRequest int, message string) ci.Context {
	return ci.Context{System: "Azure Pipelines", Repository: "acme/web/shop", SHA: deployed, Branch: branch,
		PullRequestNumber: pullRequest, CommitMessage: message}
}

func onBitbucket(branch string, pullRequest int) ci.Context {
	return ci.Context{System: "Bitbucket Pipelines", Repository: "acme/shop", SHA: deployed, Branch: branch, PullRequestNumber: pullRequest,
		CommitURL: "https://bitbucket.org/acme/shop/commits/" + deployed}
}

// TestRecorded: each kind of job of each CI system is for the commit that it deploys.
func TestRecorded(t *testing.T) {
	for system, want := range recorded {
		t.Run(system, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", system+".json"))
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
			got := map[string]ci.Context{}
			for name, job := range jobs {
				got[name] = ci.Detect(func(name string) string { return job.Env[name] }, job.Event)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

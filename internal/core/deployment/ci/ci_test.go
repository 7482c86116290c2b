package ci_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
)

var detectCases = map[string]struct {
	reason string
	env    map[string]string
	event  string
	want   ci.Context
}{
	"no CI": {reason: "a shell of a person", env: map[string]string{"BRANCH_NAME": "main", "GIT_COMMIT": "abc"}},
	"GitHub Actions, push": {
		env: map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch",
			"GITHUB_SHA": "abc", "GITHUB_REPOSITORY": "acme/shop", "GITHUB_SERVER_URL": "https://github.example.com"},
		want: ci.Context{System: "GitHub Actions", Branch: "main", SHA: "abc", Repository: "acme/shop", HostingService: "GitHub",
			CommitURL: "https://github.example.com/acme/shop/commit/abc"},
	},
	"GitHub Actions, push with its event": {
		env:   map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc"},
		event: `{"head_commit":{"id":"abc","message":"Fix login\n\nLong.","author":{"name":"Ann Lee","email":"ann@example.com"}}}`,
		want: ci.Context{System: "GitHub Actions", SHA: "abc", HostingService: "GitHub", CommitMessage: "Fix login\n\nLong.",
			CommitAuthor: "Ann Lee"},
	},
	"GitHub Actions, after another workflow": {
		reason: "GITHUB_SHA is the newest commit of the default branch then, and may be another",
		env:    map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc"},
		event:  `{"workflow_run":{"head_commit":{"id":"def","message":"Fix login","author":{"name":"Ann Lee"}}}}`,
		want:   ci.Context{System: "GitHub Actions", SHA: "abc", HostingService: "GitHub"},
	},
	"GitHub Actions, pull request": {
		reason: "GITHUB_SHA is a temporary merge commit that is never deployed",
		env: map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_REF_NAME": "7/merge",
			"GITHUB_REF_TYPE": "branch",
			"GITHUB_HEAD_REF": "feature/x", "GITHUB_SHA": "merge", "GITHUB_REPOSITORY": "acme/shop"},
		event: `{"pull_request":{"number":7,"head":{"ref":"feature/x","sha":"head"}}}`,
		want: ci.Context{System: "GitHub Actions", Branch: "feature/x", SHA: "head", Repository: "acme/shop", HostingService: "GitHub",
			PullRequestNumber: 7, CommitURL: "https://github.com/acme/shop/commit/head"},
	},
	"GitHub Actions, pull request without its event": {
		env: map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_REF_NAME": "7/merge",
			"GITHUB_HEAD_REF": "feature/x", "GITHUB_SHA": "merge"},
		event: "not JSON",
		want:  ci.Context{System: "GitHub Actions", Branch: "feature/x", SHA: "merge", HostingService: "GitHub", PullRequestNumber: 7},
	},
	"GitHub Actions, deployment": {
		env:   map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc"},
		event: `{"deployment":{"ref":"release/2","sha":"def"}}`,
		want:  ci.Context{System: "GitHub Actions", Branch: "release/2", SHA: "def", HostingService: "GitHub"},
	},
	"GitHub Actions, deployment of a commit": {
		reason: "the ref is the commit, and no branch",
		env:    map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc"},
		event:  `{"deployment":{"ref":"5CA1AB1E5CA1AB1E5CA1AB1E5CA1AB1E5CA1AB1E","sha":"5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e"}}`,
		want:   ci.Context{System: "GitHub Actions", SHA: "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e", HostingService: "GitHub"},
	},
	"GitHub Actions, tag": {
		env: map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/tags/v1", "GITHUB_REF_NAME": "v1", "GITHUB_REF_TYPE": "tag",
			"GITHUB_SHA": "abc"},
		want: ci.Context{System: "GitHub Actions", SHA: "abc", HostingService: "GitHub"},
	},
	"GitLab, branch": {
		env: map[string]string{"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_SHA": "abc", "CI_PROJECT_PATH": "acme/web/shop",
			"CI_PROJECT_URL":  "https://gitlab.com/acme/web/shop",
			"CI_COMMIT_TITLE": "Fix login", "CI_COMMIT_AUTHOR": "Ann Lee <ann@example.com>"},
		want: ci.Context{System: "GitLab CI", Branch: "main", SHA: "abc", Repository: "acme/web/shop", HostingService: "GitLab",
			CommitURL: "https://gitlab.com/acme/web/shop/-/commit/abc", CommitMessage: "Fix login", CommitAuthor: "Ann Lee <ann@example.com>"},
	},
	"GitLab, merged results": {
		env: map[string]string{"GITLAB_CI": "true", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feature/x",
			"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "head",
			"CI_COMMIT_SHA":                      "merged", "CI_COMMIT_TITLE": "Merge feature/x",
			"CI_COMMIT_AUTHOR": "GitLab", "CI_MERGE_REQUEST_IID": "12",
			"CI_PROJECT_PATH": "acme/shop"},
		want: ci.Context{System: "GitLab CI", Branch: "feature/x", SHA: "head", Repository: "acme/shop", HostingService: "GitLab",
			PullRequestNumber: 12},
	},
	"CircleCI": {
		env: map[string]string{"CIRCLECI": "true", "CIRCLE_BRANCH": "feature/x", "CIRCLE_SHA1": "abc",
			"CIRCLE_REPOSITORY_URL": "git@github.com:acme/shop.git",
			"CIRCLE_PULL_REQUEST":   "https://github.com/acme/shop/pull/9"},
		want: ci.Context{System: "CircleCI", Branch: "feature/x", SHA: "abc", Repository: "acme/shop", HostingService: "GitHub",
			PullRequestNumber: 9},
	},
	"CircleCI, fork": {
		env: map[string]string{"CIRCLECI": "true", "CIRCLE_BRANCH": "pull/9", "CIRCLE_SHA1": "abc", "CIRCLE_PROJECT_USERNAME": "acme",
			"CIRCLE_PROJECT_REPONAME": "shop"},
		want: ci.Context{System: "CircleCI", SHA: "abc", Repository: "acme/shop", PullRequestNumber: 9},
	},
	"Buildkite": {
		env: map[string]string{"BUILDKITE": "true", "BUILDKITE_BRANCH": "main", "BUILDKITE_COMMIT": "abc", "BUILDKITE_PULL_REQUEST": "false",
			"BUILDKITE_REPO": "https://user:secret@gitlab.example.com/acme/web/shop.git", "BUILDKITE_MESSAGE": "Fix login",
			"BUILDKITE_BUILD_AUTHOR": "Ann Lee"},
		want: ci.Context{System: "Buildkite", Branch: "main", SHA: "abc", Repository: "acme/web/shop", HostingService: "GitLab",
			CommitMessage: "Fix login", CommitAuthor: "Ann Lee"},
	},
	"Buildkite, not resolved": {
		env: map[string]string{"BUILDKITE": "true", "BUILDKITE_BRANCH": "v1", "BUILDKITE_TAG": "v1", "BUILDKITE_COMMIT": "HEAD",
			"BUILDKITE_PULL_REQUEST": "3"},
		want: ci.Context{System: "Buildkite", PullRequestNumber: 3},
	},
	"Jenkins, multibranch pull request": {
		env: map[string]string{"JENKINS_URL": "https://ci.example.com/", "BRANCH_NAME": "PR-5", "CHANGE_BRANCH": "feature/x", "CHANGE_ID": "5",
			"GIT_COMMIT": "abc", "GIT_URL": "https://github.com/acme/shop.git"},
		want: ci.Context{System: "Jenkins", Branch: "feature/x", SHA: "abc", Repository: "acme/shop", HostingService: "GitHub",
			PullRequestNumber: 5},
	},
	"Jenkins, classic": {
		env: map[string]string{"JENKINS_URL": "https://ci.example.com/", "GIT_BRANCH": "origin/release/2", "GIT_COMMIT": "abc",
			"GIT_URL": "ssh://git@git.example.com/acme/shop"},
		want: ci.Context{System: "Jenkins", Branch: "release/2", SHA: "abc", Repository: "acme/shop"},
	},
}

func TestDetect(t *testing.T) {
	for name, tc := range detectCases {
		t.Run(name, func(t *testing.T) {
			got := ci.Detect(func(name string) string { return tc.env[name] }, []byte(tc.event))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

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
	"GitHub Actions, pull request without its event": {
		env: map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_REF_NAME": "7/merge",
			"GITHUB_HEAD_REF": "feature/x", "GITHUB_SHA": "merge"},
		event: "not JSON",
		want:  ci.Context{System: "GitHub Actions", Branch: "feature/x", SHA: "merge", HostingService: "GitHub", PullRequestNumber: 7},
	},
	"GitHub Actions, deployment of a commit": {
		reason: "the ref is the commit, and no branch",
		env:    map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc"},
		event:  `{"deployment":{"ref":"5CA1AB1E5CA1AB1E5CA1AB1E5CA1AB1E5CA1AB1E","sha":"5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e"}}`,
		want:   ci.Context{System: "GitHub Actions", SHA: "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e", HostingService: "GitHub"},
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

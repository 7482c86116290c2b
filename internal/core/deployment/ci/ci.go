// Package ci detects the commit that a CI job is for, from the variables of the CI system. It is pure: the environment is a function and
// the event file is bytes.
package ci

import (
	"cmp"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Context describes the deployed commit. What is unknown is empty.
type Context struct {
	System            string `json:"system,omitempty"` // which CI system it is
	Branch            string `json:"branch,omitempty"`
	SHA               string `json:"sha,omitempty"`
	Repository        string `json:"repository,omitempty"` // owner/name, or group/subgroup/name
	HostingService    string `json:"hostingService,omitempty"`
	PullRequestNumber int    `json:"pullRequestNumber,omitempty"`
	CommitURL         string `json:"commitURL,omitempty"`
	CommitMessage     string `json:"commitMessage,omitempty"`
	CommitAuthor      string `json:"commitAuthor,omitempty"`
}

// Getenv returns a variable, empty if it is not set.
type Getenv func(name string) string

// systems are tried in this order. A system inside another (a Jenkins job that sets GitHub's variables) is rare.
var systems = []struct {
	variable, value string
	read            func(env Getenv, event []byte) Context
}{
	{"GITHUB_ACTIONS", "true", gitHubActions},
	{"GITLAB_CI", "true", gitLab},
	{"CIRCLECI", "true", circleCI},
	{"BUILDKITE", "true", buildkite},
	{"JENKINS_URL", "", jenkins},
	{"TF_BUILD", "true", azurePipelines},
	{"BITBUCKET_BUILD_NUMBER", "", bitbucket},
}

// Detect reads the variables of the CI system. The event is the content of the file $GITHUB_EVENT_PATH, or nil. In a merge queue of GitHub,
// which any of the systems may build, branch and pull request are those of the group.
func Detect(env Getenv, event []byte) Context {
	for _, system := range systems {
		if value := env(system.variable); value != "" && (system.value == "" || strings.EqualFold(value, system.value)) {
			c := system.read(env, event)
			if base, pullRequest, queued := codehost.MergeQueue(c.Branch); queued {
				c.Branch, c.PullRequestNumber = base, int(pullRequest)
			}
			return c
		}
	}
	return Context{}
}

// gitLab prefers the head of the source branch: a merged results pipeline runs on a temporary commit.
func gitLab(env Getenv, _ []byte) Context {
	c := Context{
		System: "GitLab CI", HostingService: "GitLab",
		Branch:            cmp.Or(env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"), env("CI_COMMIT_BRANCH")),
		SHA:               cmp.Or(env("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), env("CI_COMMIT_SHA")),
		Repository:        env("CI_PROJECT_PATH"),
		PullRequestNumber: number(env("CI_MERGE_REQUEST_IID")),
	}
	c.CommitURL = commitURL(env("CI_PROJECT_URL"), "/-/commit/", c.SHA)
	if commit.EqualRevisions(c.SHA, env("CI_COMMIT_SHA")) {
		c.CommitMessage, c.CommitAuthor = env("CI_COMMIT_TITLE"), env("CI_COMMIT_AUTHOR")
	}
	return c
}

func circleCI(env Getenv, _ []byte) Context {
	c := fromRemote(env("CIRCLE_REPOSITORY_URL"))
	c.System, c.Branch, c.SHA = "CircleCI", env("CIRCLE_BRANCH"), env("CIRCLE_SHA1")
	if owner, name := env("CIRCLE_PROJECT_USERNAME"), env("CIRCLE_PROJECT_REPONAME"); c.Repository == "" && owner != "" && name != "" {
		c.Repository = owner + "/" + name
	}
	c.PullRequestNumber = number(cmp.Or(env("CIRCLE_PR_NUMBER"), last(env("CIRCLE_PULL_REQUEST"))))
	if strings.HasPrefix(c.Branch, "pull/") { // of a fork, not a branch of the repository
		c.PullRequestNumber, c.Branch = number(strings.TrimPrefix(c.Branch, "pull/")), ""
	}
	return c
}

func buildkite(env Getenv, _ []byte) Context {
	c := fromRemote(env("BUILDKITE_REPO"))
	c.System, c.Branch, c.SHA = "Buildkite", env("BUILDKITE_BRANCH"), env("BUILDKITE_COMMIT")
	c.CommitMessage, c.CommitAuthor = env("BUILDKITE_MESSAGE"), env("BUILDKITE_BUILD_AUTHOR")
	if c.SHA == "HEAD" { // not resolved yet
		c.SHA = ""
	}
	if tag := env("BUILDKITE_TAG"); tag != "" && tag == c.Branch {
		c.Branch = ""
	}
	c.PullRequestNumber = number(env("BUILDKITE_PULL_REQUEST")) // "false" without a pull request
	return c
}

// jenkins builds pull requests as PR-123 in multibranch projects; CHANGE_BRANCH is their branch.
func jenkins(env Getenv, _ []byte) Context {
	c := fromRemote(cmp.Or(env("GIT_URL"), env("GIT_URL_1")))
	c.System, c.SHA = "Jenkins", env("GIT_COMMIT")
	c.Branch = cmp.Or(env("CHANGE_BRANCH"), env("BRANCH_NAME"), withoutRemote(env("GIT_BRANCH")))
	if env("TAG_NAME") != "" {
		c.Branch = "" // BRANCH_NAME is the tag
	}
	c.PullRequestNumber = number(env("CHANGE_ID"))
	return c
}

// azurePipelines prefers the head of a pull request: BUILD_SOURCEVERSION is a temporary merge. For repositories of GitHub, only
// PULLREQUESTNUMBER is the number that people know.
func azurePipelines(env Getenv, _ []byte) Context {
	c := fromRemote(env("BUILD_REPOSITORY_URI"))
	c.System, c.Repository = "Azure Pipelines", strings.Replace(c.Repository, "/_git/", "/", 1)
	c.SHA = cmp.Or(env("SYSTEM_PULLREQUEST_SOURCECOMMITID"), env("BUILD_SOURCEVERSION"))
	c.PullRequestNumber = number(cmp.Or(env("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"), env("SYSTEM_PULLREQUEST_PULLREQUESTID")))
	ref := cmp.Or(env("SYSTEM_PULLREQUEST_SOURCEBRANCH"), env("BUILD_SOURCEBRANCH"))
	if branch := strings.TrimPrefix(ref, "refs/heads/"); !strings.HasPrefix(branch, "refs/") {
		c.Branch = branch
	}
	if commit.EqualRevisions(c.SHA, env("BUILD_SOURCEVERSION")) {
		c.CommitMessage = env("BUILD_SOURCEVERSIONMESSAGE")
	}
	return c
}

func bitbucket(env Getenv, _ []byte) Context {
	c := Context{System: "Bitbucket Pipelines", Branch: env("BITBUCKET_BRANCH"), SHA: env("BITBUCKET_COMMIT"),
		Repository: env("BITBUCKET_REPO_FULL_NAME"), PullRequestNumber: number(env("BITBUCKET_PR_ID"))}
	c.CommitURL = commitURL(env("BITBUCKET_GIT_HTTP_ORIGIN"), "/commits/", c.SHA)
	return c
}

func withoutRemote(branch string) string { return strings.TrimPrefix(branch, "origin/") }

var sshRemote = regexp.MustCompile(`^[^/@\s]+@([^:/\s]+):(.+)$`)

// fromRemote returns nothing but the repository and its host from a clone URL, which may contain a password.
func fromRemote(remote string) Context {
	host, path := "", ""
	if m := sshRemote.FindStringSubmatch(remote); m != nil {
		host, path = m[1], m[2]
	} else if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if !strings.Contains(path, "/") {
		return Context{}
	}
	c := Context{Repository: path}
	for _, known := range codehost.All() {
		if strings.Contains(host, strings.ToLower(string(known.Name))) {
			c.HostingService = string(known.Name)
		}
	}
	return c
}

func commitURL(repository, between, sha string) string {
	if repository == "" || sha == "" {
		return ""
	}
	return repository + between + sha
}

func last(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

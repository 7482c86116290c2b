package ci

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

type gitHubEvent struct {
	PullRequest struct {
		Number         int       `json:"number"`
		Merged         bool      `json:"merged"`
		MergeCommitSHA string    `json:"merge_commit_sha"`
		Head           gitHubRef `json:"head"`
		Base           gitHubRef `json:"base"`
	} `json:"pull_request"`
	Deployment  gitHubRef   `json:"deployment"`
	WorkflowRun gitHubSuite `json:"workflow_run"`
	CheckSuite  gitHubSuite `json:"check_suite"`
	CheckRun    struct {
		HeadSHA      string       `json:"head_sha"`
		PullRequests []gitHubPull `json:"pull_requests"`
		CheckSuite   gitHubSuite  `json:"check_suite"`
	} `json:"check_run"`
	SHA      string `json:"sha"` // of a status
	Branches []struct {
		Name string `json:"name"`
	} `json:"branches"` // of a status: those with this commit at their head
	Issue struct {
		Number      int       `json:"number"`
		PullRequest *struct{} `json:"pull_request"` // nil: an issue
	} `json:"issue"`
	HeadCommit gitHubCommit `json:"head_commit"`
	MergeGroup gitHubSuite  `json:"merge_group"`
}

type gitHubRef struct {
	Ref string `json:"ref"`
	SHA string `json:"sha"`
}

type gitHubPull struct {
	Number int `json:"number"`
}

// gitHubSuite has what runs of workflows, check suites and merge groups have in common.
type gitHubSuite struct {
	Event          string `json:"event"`
	HeadSHA        string `json:"head_sha"`
	HeadBranch     string `json:"head_branch"`
	HeadRepository struct {
		FullName string `json:"full_name"`
	} `json:"head_repository"`
	HeadCommit   gitHubCommit `json:"head_commit"`
	PullRequests []gitHubPull `json:"pull_requests"`
}

type gitHubCommit struct {
	ID      string `json:"id"`
	Message string `json:"message"`
	Author  struct {
		Name string `json:"name"`
	} `json:"author"`
}

// gitHubHead is what an event is about.
type gitHubHead struct {
	sha, branch string
	pullRequest int
}

// gitHubActions prefers what the event is about to GITHUB_SHA: for a pull request, that is a temporary merge that shows no checks, and for
// many events the newest commit of the default branch.
func gitHubActions(env Getenv, raw []byte) Context {
	var event gitHubEvent
	_ = json.Unmarshal(raw, &event) // an unreadable event is ignored
	head := event.head(env)
	c := Context{System: "GitHub Actions", HostingService: "GitHub", Repository: env("GITHUB_REPOSITORY"),
		SHA: head.sha, Branch: head.branch, PullRequestNumber: head.pullRequest}
	for _, known := range []gitHubCommit{
		event.HeadCommit, event.WorkflowRun.HeadCommit, event.CheckSuite.HeadCommit, event.MergeGroup.HeadCommit,
	} {
		if commit.EqualRevisions(known.ID, c.SHA) { // events of pull requests and deployments have no message
			c.CommitMessage, c.CommitAuthor = known.Message, known.Author.Name
		}
	}
	if c.Repository != "" && c.SHA != "" {
		c.CommitURL = commitURL(cmp.Or(env("GITHUB_SERVER_URL"), "https://github.com")+"/"+c.Repository, "/commit/", c.SHA)
	}
	return c
}

// head goes by the members of the event. Deployments come first: their events also name the run of the workflow that deployed.
func (e gitHubEvent) head(env Getenv) gitHubHead {
	pull := e.PullRequest
	switch {
	case pull.Merged: // what is deployed now is its base
		return gitHubHead{cmp.Or(pull.MergeCommitSHA, env("GITHUB_SHA")), pull.Base.Ref, pull.Number}
	case pull.Head.SHA != "":
		return gitHubHead{pull.Head.SHA, pull.Head.Ref, pull.Number}
	case e.Deployment.SHA != "":
		return gitHubHead{sha: e.Deployment.SHA, branch: e.deployedBranch(env)}
	case e.WorkflowRun.HeadSHA != "":
		return e.WorkflowRun.head(env("GITHUB_REPOSITORY"))
	case e.CheckRun.HeadSHA != "":
		return gitHubHead{e.CheckRun.HeadSHA, e.CheckRun.CheckSuite.HeadBranch, only(e.CheckRun.PullRequests)}
	case e.CheckSuite.HeadSHA != "":
		return gitHubHead{e.CheckSuite.HeadSHA, e.CheckSuite.HeadBranch, only(e.CheckSuite.PullRequests)}
	case e.SHA != "" && env("GITHUB_EVENT_NAME") == "status":
		head := gitHubHead{sha: e.SHA}
		if len(e.Branches) == 1 {
			head.branch = e.Branches[0].Name
		}
		return head
	case e.Issue.PullRequest != nil: // a comment, which does not say the head of the pull request
		return gitHubHead{pullRequest: e.Issue.Number}
	default:
		return gitHubHead{env("GITHUB_SHA"), cmp.Or(env("GITHUB_HEAD_REF"), branchOf(env)), numberIn(env("GITHUB_REF"))}
	}
}

// head returns what the earlier workflow was about. For the pull request of a fork, GitHub leaves out the number, and the branch is
// none of this repository: it is written as GitHub writes it, owner:branch, which no Git branch can be called.
func (run gitHubSuite) head(repository string) gitHubHead {
	head := gitHubHead{sha: run.HeadSHA, branch: run.HeadBranch}
	ofPull := strings.HasPrefix(run.Event, "pull_request")
	if ofPull { // others list each pull request from that branch
		head.pullRequest = only(run.PullRequests)
	}
	owner, _, known := strings.Cut(run.HeadRepository.FullName, "/")
	switch {
	case known && !commit.SameRepository(run.HeadRepository.FullName, repository):
		head.branch = owner + ":" + run.HeadBranch
	case !known && ofPull && len(run.PullRequests) == 0: // the fork was deleted
		head.branch = ""
	}
	return head
}

// only returns the number of the pull request, or 0 if there are several.
func only(pulls []gitHubPull) int {
	if len(pulls) != 1 {
		return 0
	}
	return pulls[0].Number
}

// deployedBranch returns "" if the ref is a commit or a tag.
func (e gitHubEvent) deployedBranch(env Getenv) string {
	if commit.EqualRevisions(e.Deployment.Ref, e.Deployment.SHA) || env("GITHUB_REF_TYPE") == "tag" {
		return ""
	}
	return strings.TrimPrefix(e.Deployment.Ref, "refs/heads/")
}

// branchOf returns "" for a tag.
func branchOf(env Getenv) string {
	if env("GITHUB_REF_TYPE") == "tag" || numberIn(env("GITHUB_REF")) > 0 {
		return ""
	}
	return cmp.Or(env("GITHUB_REF_NAME"), strings.TrimPrefix(env("GITHUB_REF"), "refs/heads/"))
}

var pullRef = regexp.MustCompile(`^refs/pull/(\d+)/`)

func numberIn(ref string) int {
	if m := pullRef.FindStringSubmatch(ref); m != nil {
		return number(m[1])
	}
	return 0
}

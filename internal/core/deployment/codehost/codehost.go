// Package codehost has one row for each code host: what Postflight knows of it without asking it.
package codehost

import (
	"cmp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Host is the row of a code host. Flags of the manager begin with its name in lower case.
type Host struct {
	Name v1alpha1.HostingService
	URL  string // of the API of the public service
	Site string // ends in a slash; the repositories of the public service are below it

	OwnerAndName    bool   // these two name a repository: there are no groups
	CommitPath      string // between the URL of a repository and a SHA
	PullRequestPath string // between the URL of a repository and a number
	Sign            string // before the number of a pull request, in text

	PerMinute, PerHour int    // content-creating requests that one credential may send
	Permission         string // what a refused token needs; empty: the permission to write what was refused

	ReviewsRuns     bool   // decisions name a workflow run instead of a deployment
	Approver        string // the clause that says what refused credentials need to decide about deployments
	ApprovalComment int    // bytes of the text of a decision
	NotPending      string // is in the answer to a decision about a deployment that waits for none

	CheckRuns, Statuses, Deployments Words // checks that have not ended are shown by their phase
}

// Words are what a code host calls the conclusions.
type Words [state.Error + 1]string

// Of returns the word for a state.
func (w Words) Of(reason string) string { return w[state.Of(reason).Conclusion] }

// gitLab are the words for statuses. Those for deployments are the same.
var gitLab = Words{
	state.Pending: "running", state.Success: "success", state.Failure: "failed", state.Timeout: "failed",
	state.Canceled: "canceled", state.Superseded: "canceled", state.Error: "failed",
}

// Code hosts let a required check pass that was skipped or is neutral, so a run without a verdict is neither. GitHub's deployment of a
// superseded run is inactive, because its commit was replaced; the commit of a canceled run is still deployed, with an unknown result.
//
// GitHub's documentation has its limits. GitLab.com allows 2,000 requests a minute; the limits for GitLab protect small servers, and the
// text of a decision has the bound of its table.
var hosts = []Host{
	{
		Name: v1alpha1.GitHub, URL: "https://api.github.com", Site: "https://github.com/",
		OwnerAndName: true, CommitPath: "/commit/", PullRequestPath: "/pull/", Sign: "#",
		PerMinute: 80, PerHour: 500,
		Approver:        "the App needs the permissions to read actions and to write deployments there, and the environment its protection rule",
		ReviewsRuns:     true,
		ApprovalComment: 1024, NotPending: "No pending custom deployment requests",
		CheckRuns: Words{
			state.Success: "success", state.Failure: "failure", state.Timeout: "timed_out",
			state.Canceled: "cancelled", state.Superseded: "cancelled", state.Error: "failure",
		},
		Statuses: Words{
			state.Success: "success", state.Failure: "failure", state.Timeout: "failure",
			state.Canceled: "error", state.Superseded: "error", state.Error: "error",
		},
		Deployments: Words{
			state.Pending: "in_progress", state.Success: "success", state.Failure: "failure", state.Timeout: "failure",
			state.Canceled: "error", state.Superseded: "inactive", state.Error: "error",
		},
	},
	{
		Name: v1alpha1.GitLab, URL: "https://gitlab.com", Site: "https://gitlab.com/",
		CommitPath: "/-/commit/", PullRequestPath: "/-/merge_requests/", Sign: "!",
		PerMinute: 300, PerHour: 6000, Permission: "the scope api and at least the role Developer",
		Approver:        "the token needs the scope api, and its user must be an approver of the environment",
		ApprovalComment: 255, NotPending: "not waiting for approvals",
		Statuses: gitLab, Deployments: gitLab,
	},
}

// Of returns the row of a code host; "" is GitHub. A host that only a later version knows has links like those of GitHub, and nothing is
// sent to it.
func Of(name v1alpha1.HostingService) Host {
	if i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == cmp.Or(name, v1alpha1.GitHub) }); i >= 0 {
		return hosts[i]
	}
	return Host{Name: name, CommitPath: "/commit/", PullRequestPath: "/pull/", Sign: "#"}
}

// All returns the rows.
func All() []Host { return slices.Clone(hosts) }

// Names returns the names as a choice in a sentence.
func Names() string {
	var names []string
	for _, h := range hosts {
		names = append(names, string(h.Name))
	}
	return strings.Join(names, " or ")
}

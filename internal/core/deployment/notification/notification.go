// Package notification decodes and validates the body of a deployment notification.
//
// Decode is strict about JSON, but skips unknown members, which Hint names: a name given twice, trailing data, deep nesting and a value of
// the wrong type are errors. Names of members are case-sensitive. A number or a boolean is never read as a string, nor the other way round.
// Text that is not valid UTF-8, or has half of a surrogate pair, is an error in a name and in a member that is not only Shown.
//
// Pipelines fill a body from variables that are not always set, and clients send null for missing options. So null means absent for every
// member, and the empty string for every string, repository included. Only the value of a variable may be empty: for a test, an empty
// variable differs from an unset one.
//
// A value is stored as it was sent, with three exceptions: a SHA is trimmed, and lower-cased if it is a commit's; the hosting service gets
// the spelling of the API; what is only Shown is cut and repaired.
//
// The error is a sentence for the person who reads the log of the pipeline. It names the path of the member, and says what to send. It
// never quotes a value that may hold a secret: no URL and no variable.
package notification

import (
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Notification is within the bounds of limits.go. An absent field is empty. Do not trust the values: anybody may name a branch.
type Notification struct {
	Branch               string                  // as it was sent; compare its BranchName
	SHA                  string                  // of a commit, in lower case, or any other text
	DeploymentType       string                  // compared exactly
	DeploymentURL        string                  // absolute, http or https, without user name and password
	HostingService       v1alpha1.HostingService // where the commit is; GitHub unless the notification names another
	CommitURL            string                  // like DeploymentURL
	CommitMessage        string                  // its first line; longer ones are cut
	CommitAuthor         string                  // a name, without an e-mail address
	Repository           string                  // owner/name, or group/subgroup/name
	Service              string                  // of the repository, compared exactly; empty: the whole repository
	PullRequestNumber    int64                   // of the pull request or merge request
	PipelineID           int64                   // of the GitLab pipeline that a check belongs to
	Variables            map[string]string       // of the run; names may be Reserved
	Workflow             string                  // of GitHub Actions that deployed; only events of GitHub have it
	Job                  string                  // of the workflow, as GitHub shows it; only events of GitHub have it
	Task                 string                  // of the deployment, mostly "deploy"; only events of GitHub have it
	DeduplicationKey     string                  // replaces the key by which a newer run supersedes older ones
	Unknown              []string                // unknown members, the first few
	EphemeralEnvironment bool                    // requests an Environment of its own; comes with a DeploymentURL
}

// BranchName is a branch without "refs/heads/", as Triggers name branches.
func BranchName(branch string) string {
	return strings.TrimPrefix(branch, "refs/heads/")
}

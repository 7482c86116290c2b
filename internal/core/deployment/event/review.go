package event

import (
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const maxUser = 64 // bytes of a name on a code host; GitHub's have at most 39 characters, and GitLab's are seldom longer

// Review asks whether a deployment to a protected environment may start. Anyone who knows the secret of an EventSource can send one: before
// a decision, ask the code host about the deployment.
type Review struct {
	Environment  string    // as it was sent, which the decision repeats
	SHA          string    // of the commit, in lower case; empty: unknown, or the event names several
	Ref          string    // a branch or tag; may be empty
	RunID        int64     // of the workflow run, on GitHub
	DeploymentID int64     // 0: GitHub has created no deployment
	Installation int64     // of the GitHub App; only for people: credentials follow from the repository
	Trigger      string    // what started the workflow, such as pull_request, on GitHub; one short line
	By           string    // who started it, for people
	CreatedAt    time.Time // of the deployment on GitHub, when it was blocked on GitLab; zero: unknown
}

// CheckReview checks names in a Review as for a notification. Its error is an *InvalidError.
func CheckReview(r Review, host v1alpha1.HostingService, repository string) error {
	_, err := NewNotification(map[string]string{
		"branch": r.Ref, "deployment_type": r.Environment, "repository": repository, "hosting_service": string(host),
	})
	return err
}

// Starter returns who started a deployment, for people.
func Starter(host v1alpha1.HostingService, user string) string {
	return strings.TrimSpace(string(host) + ": " + plaintext.Line(user, maxUser))
}

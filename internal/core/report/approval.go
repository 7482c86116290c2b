package report

import (
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// ApprovalState is a decision about a deployment that waits. The empty one only says how far the tests are, which GitHub alone shows.
type ApprovalState string

// The decisions.
const (
	StateApproved ApprovalState = "approved"
	StateRejected ApprovalState = "rejected"
)

// ApprovalRequest is a decision to send, or the question about the deployment.
type ApprovalRequest struct {
	Request
	Environment  string // as the code host calls it
	RunID        int64  // of the workflow run, on GitHub: it asks for all jobs of the environment that wait, whatever their deployments
	DeploymentID int64  // on GitLab
	State        ApprovalState
	Comment      string // Markdown; longer ones are cut
}

// Pending is what the code host says about a deployment at this moment. Its names are short lines.
type Pending struct {
	Waiting        bool   // for a decision about the environment of the request; on GitHub, perhaps only for the decision of others
	SHA            string // in lower case
	Repository     string // full name
	HeadRepository string // of the branch: another name for a fork; empty: unknown, so perhaps a fork
	Environment    string // of the deployment: on GitLab, a decision names only the deployment
	Event          string // what started the workflow or pipeline; empty: unknown
}

// OfFork reports whether the commit may be of another repository. What the code host does not say is no reason to approve.
func (p Pending) OfFork() bool {
	return p.HeadRepository == "" || !commit.SameRepository(p.HeadRepository, p.Repository)
}

// Problem returns why the request names nothing to ask or decide about, or nil.
func (r ApprovalRequest) Problem() *Error {
	id, problem := r.DeploymentID, ""
	if codehost.Of(r.Host).ReviewsRuns {
		id = r.RunID
	}
	switch {
	case r.Environment == "":
		problem = "the environment is not known"
	case id < 1:
		problem = "the number of the deployment is not known"
	case r.State != "" && r.State != StateApproved && r.State != StateRejected:
		problem = fmt.Sprintf("there is no decision %q", plaintext.Line(string(r.State), maxShown))
	default:
		return nil
	}
	return &Error{Kind: Rejected, Message: "nothing is asked of the code host, because " + problem}
}

const cutMark = "\n…"

// Text returns the comment as the code host accepts it: without control characters, and not too long.
func (r ApprovalRequest) Text() string {
	limit := max(codehost.Of(r.Host).ApprovalComment, len(cutMark))
	text, cut := plaintext.Block(r.Comment, limit)
	if cut {
		text, _ = plaintext.Block(r.Comment, limit-len(cutMark))
		text += cutMark
	}
	return text
}

// tooLate reports whether an answer says that the deployment waits for no decision.
func tooLate(r Request, status int, text string) bool {
	says := codehost.Of(r.Host).NotPending
	return r.Purpose == Approvals && (status == 400 || status == 422) && says != "" && strings.Contains(text, says)
}

// NoLongerPending is the error of a decision about a deployment that waits for none.
func NoLongerPending(host string, r Request) *Error {
	return &Error{Kind: NotPending, Message: fmt.Sprintf("%s says that the deployment in %s waits for no decision", host, r.Repository)}
}

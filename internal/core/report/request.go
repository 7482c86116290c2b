package report

import "github.com/postflight-dev/postflight/api/v1alpha1"

// Purpose is what a request to a code host is about.
type Purpose int

// The purposes: checks, what is shown beside them, and decisions about deployments that wait.
const (
	Checks Purpose = iota
	Deployments
	Comments
	Approvals
)

// Request is a check to post, unless it has another Purpose.
type Request struct {
	Target
	Credentials Credentials
	Purpose     Purpose
	Check       Check
	Last        v1alpha1.SuiteReport // what was posted before, as far as the Suite knows
	Unsure      bool                 // more may have been posted, without an answer or by another leader: first read what the host shows
}

// Shown returns what the code host shows after a request.
func (r Request) Shown(phase v1alpha1.ReportPhase, checkID int64) v1alpha1.SuiteReport {
	return v1alpha1.SuiteReport{HostingService: r.Host, Repository: r.Repository, Phase: phase, CheckID: checkID}
}

// Missing reports whether the code host shows an earlier phase than the check.
func (r Request) Missing(shown v1alpha1.ReportPhase) bool { return after(r.Check.Phase, shown) }

// DeploymentRequest is a deployment to show.
type DeploymentRequest struct {
	Request
	Deployment Deployment
	ID         int64 // of the deployment; 0: look for it
}

// CommentRequest is a comment on a pull request to show.
type CommentRequest struct {
	Request
	Number int64 // of the pull request
	Marker string
	Body   string // begins with the Marker
	ID     int64  // of the comment; 0: look for it
}

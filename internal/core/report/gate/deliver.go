package gate

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/report"
)

const (
	// Expiry is how long a deployment waits: GitHub fails it after 30 days.
	Expiry = 30 * 24 * time.Hour
	// KeptFor is how long an ended review shows what was decided. An event that is delivered again meanwhile finds it.
	KeptFor = 7 * 24 * time.Hour
	// MaxKept bounds the ended reviews of a namespace: the oldest are deleted earlier.
	MaxKept = 500
	// MaxOpen bounds those that wait in a namespace: as many jobs of one team rarely wait at once.
	MaxOpen = 200
	// PendingFor is how long an answer of the code host counts while a gate waits, so that a stopped deployment is noticed. A decision needs
	// a fresh one.
	PendingFor = 10 * time.Minute

	maxReports    = 8                // GitHub takes ten, and a crash may have sent some that were not counted as such
	lookEvery     = time.Minute      // for changes of the Team, the EventSource and the Environments, which cause no reconcile
	unlistedFor   = time.Minute      // how long after its event a code host may not list the deployment
	unlistedRetry = 5 * time.Second  // when to ask again then
	firstRetry    = 2 * time.Second  // after the first failure; it doubles each time
	maxRetry      = 5 * time.Minute  // while the code host does not answer
	maxRefused    = 30 * time.Minute // after a refusal: people have to fix something
)

// Reports reports whether a code host is to be told what is waited for: only if it shows that, if it is something new, and not too often.
func Reports(r *v1alpha1.DeploymentReview, waits string) bool {
	return codehost.Of(r.Spec.HostingService).ReviewsRuns && waits != "" && r.Status.Decision == nil &&
		r.Status.LastReport != Bounded(waits) && r.Status.Reports < maxReports
}

// RetryAfter is when to try again after a number of failures in a row.
func RetryAfter(e *report.Error, failures int) time.Duration {
	most := maxRetry
	if e.Kind == report.Rejected {
		most = maxRefused
	}
	return max(e.RetryAfter, min(most, firstRetry<<min(max(failures-1, 0), 12)))
}

// State is a decision as a code host takes it.
func State(d *v1alpha1.ReviewDecision) report.ApprovalState {
	if d.State == v1alpha1.ReviewApproved {
		return report.StateApproved
	}
	return report.StateRejected
}

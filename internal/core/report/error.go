package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Kind is what an error of a code host means for the next request.
type Kind int

// The kinds of errors.
const (
	Rejected    Kind = iota // the request fails until somebody changes the Trigger, the repository or the credentials
	Conflict                // the host handles another request about the commit: try again soon
	Unavailable             // the host did not answer, or failed; the outcome is unknown
	Limited                 // the credential has sent too much: try again after RetryAfter
)

// Error says why a code host does not show a check. Its message is a clause for the team, without secrets.
type Error struct {
	Kind       Kind
	Message    string
	RetryAfter time.Duration // as the host asked; 0: it did not
	Cause      error         // for the log; may be nil
}

func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Error() string { return e.Message }

const conflictRetry = 2 * time.Second // GitLab itself tries for ten seconds

// RetryAfter grows with the time since the first rejection: a wrong token costs some twenty requests, and a new one is soon used.
func RetryAfter(s *v1alpha1.Suite, kind Kind, now time.Time) time.Duration {
	if kind != Rejected {
		return conflictRetry
	}
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReported)
	if c == nil || c.Reason != v1alpha1.ReasonReportFailed {
		return RejectedRetry
	}
	return max(RejectedRetry, now.Sub(c.LastTransitionTime.Time)/4)
}

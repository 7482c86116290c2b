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
	Rejected    Kind = iota // the request fails until you change the Trigger, the repository or the credentials
	Conflict                // the host handles another request about the commit: try again soon
	Unavailable             // the host did not answer, or failed; the outcome is unknown
	Limited                 // the credential has sent too much: try again after RetryAfter
)

// String is the word for a kind in metrics.
func (k Kind) String() string {
	return map[Kind]string{Rejected: "rejected", Conflict: "conflict", Unavailable: "unavailable", Limited: "limited"}[k]
}

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

// RetryAfter is when to repeat a request that failed. After a rejection it grows with the time since the first one, which only the
// condition of checks knows: a wrong token costs some twenty requests, and a new one is soon used.
func RetryAfter(p Purpose, s *v1alpha1.Suite, kind Kind, now time.Time) time.Duration {
	if kind != Rejected {
		return conflictRetry
	}
	since := s.CreationTimestamp.Time
	if p == Checks {
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReported)
		if c == nil || c.Reason != v1alpha1.ReasonReportFailed {
			return rejectedRetry
		}
		since = c.LastTransitionTime.Time
	}
	return max(rejectedRetry, now.Sub(since)/4)
}

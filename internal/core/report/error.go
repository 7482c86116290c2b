package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Kind is what an error of a code host means for the next request.
type Kind int

const (
	// Rejected is about this request, this repository or this credential: the same request will fail again until
	// somebody changes something.
	Rejected Kind = iota
	// Conflict is another request about the same commit: try again soon.
	Conflict
	// Unavailable is a host that did not answer, or answered that it failed. The outcome is unknown.
	Unavailable
	// Limited is a credential that has sent too much: try again after RetryAfter.
	Limited
)

// Error is why a code host does not show a check. Its message is a clause for the team, and never has a token.
type Error struct {
	Kind       Kind
	Message    string
	RetryAfter time.Duration // as the host asked; 0: it did not
	Cause      error         // for the log; may be nil
}

func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Error() string { return e.Message }

// conflictRetry is when to repeat a request that another one got in the way of. GitLab tries for ten seconds itself.
const conflictRetry = 2 * time.Second

// RetryAfter is when to repeat a request that failed. The waits for what is rejected grow with the time since it
// was rejected first, so that a wrong token costs some twenty requests, and one that is replaced soon is soon used.
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

package report

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Kind is what an error of a code host means for the next request.
type Kind int

// The kinds of errors.
const (
	Rejected    Kind = iota // the request fails until you change the Trigger, the repository or the credentials
	Conflict                // the host handles another request about the commit: try again soon
	Unavailable             // the host did not answer, or failed; the outcome is unknown
	Limited                 // the credential has sent too much: try again after RetryAfter
	NotPending              // the deployment waits for no decision: it has one, or was stopped, so a decision was delivered or is too late
)

// String is the word for a kind in metrics.
func (k Kind) String() string {
	return map[Kind]string{
		Rejected: "rejected", Conflict: "conflict", Unavailable: "unavailable", Limited: "limited", NotPending: "not_pending",
	}[k]
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

const maxAnswerText = 256 // of an answer, that a message repeats

// Header is the header of an HTTP answer.
type Header interface{ Get(name string) string }

// ErrorOf is the error of an answer that is not a success.
func ErrorOf(host string, r Request, status int, header Header, text string) *Error {
	e := &Error{Kind: Rejected, RetryAfter: retryAfter(header)}
	said := fmt.Sprintf("%d %s", status, plaintext.Line(text, maxAnswerText))
	switch {
	case tooLate(r, status, text):
		return NoLongerPending(host, r)
	case status == 429, status == 403 && e.RetryAfter > 0:
		e.Kind, e.Message = Limited, host+" asks to send less"
	case status == 409:
		e.Kind, e.Message = Conflict, fmt.Sprintf("%s handles another request about this commit (%s)", host, said)
	case status >= 500:
		e.Kind, e.Message = Unavailable, fmt.Sprintf("%s failed (%d)", host, status)
	case status == 401:
		e.Message = fmt.Sprintf("%s does not accept the credentials (%s); replace them", host, said)
	case status == 403:
		e.Message = fmt.Sprintf("%s does not allow these credentials to write %ss in %s (%s); %s", host, r.Purpose, r.Repository,
			said, permission(r))
	case status == 404 && r.Purpose == Approvals:
		e.Message = fmt.Sprintf("%s knows no such deployment in %s, or these credentials may not see it (%s)", host, r.Repository, said)
	case status == 404 && r.Purpose == Comments:
		e.Message = fmt.Sprintf("%s knows no such pull request in %s, or these credentials may not see it (%s)", host, r.Repository, said)
	case status == 404:
		e.Message = fmt.Sprintf("%s knows no commit %.12s in %s, or these credentials may not see it (%s)", host, r.SHA, r.Repository, said)
	default:
		e.Message = fmt.Sprintf("%s does not accept the %s (%s)", host, r.Purpose, said)
	}
	return e
}

func (p Purpose) String() string { return []string{"check", "deployment", "comment", "approval"}[p] }

func permission(r Request) string {
	if r.Purpose == Approvals {
		return codehost.Of(r.Host).Approver
	}
	needs := []string{"commit statuses", "deployments", "pull requests"}[r.Purpose]
	special := codehost.Of(r.Host).Permission
	switch {
	case special != "":
		return "the token needs " + special + " there"
	case !r.Credentials.IsApp():
		return "the token needs the permission to read and write " + needs + " there"
	case r.Purpose == Checks:
		needs = "checks"
	}
	return "the App needs the permission to read and write " + needs + " there"
}

// MaxRetryAfter bounds what a host may ask for: GitHub's limits are reset every hour.
const MaxRetryAfter = time.Hour

// retryAfter reads seconds: no code host sends a date.
func retryAfter(header Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(MaxRetryAfter/time.Second))) * time.Second
}

// NoAnswer is the error of a request that got no answer. The cause is for the log: it may name internal addresses.
func NoAnswer(host string, cause error) *Error {
	message := host + " cannot be reached"
	if slow := interface{ Timeout() bool }(nil); errors.As(cause, &slow) && slow.Timeout() {
		message = host + " does not answer"
	}
	return &Error{Kind: Unavailable, Message: message, Cause: cause}
}

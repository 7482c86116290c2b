package announce

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Failure says why a receiver did not accept a message. Its text is a sentence for the team, without the address and keys.
type Failure struct {
	Why  report.Error
	Gone bool   // the receiver wants no more
	Said string // the word of Slack for it
}

func (f *Failure) Error() string { return f.Why.Message }

// Refused is the failure of an answer that is not a success. Only a chat's text is quoted; other texts may be untrusted.
func Refused(status int, retryAfter time.Duration, said string) *Failure {
	f := &Failure{Why: report.Error{Kind: report.Rejected, RetryAfter: retryAfter}}
	why := &f.Why
	switch {
	case status == 410:
		f.Gone = true
		why.Message = "It answered 410 Gone."
	case status == 429, status == 503 && retryAfter > 0:
		why.Kind, why.Message = report.Limited, "It asks to send less."
	case status >= 500, status == 408:
		why.Kind, why.Message = report.Unavailable, fmt.Sprintf("It failed (%d).", status)
	case status >= 300 && status < 400:
		why.Message = fmt.Sprintf("It answered with a redirect (%d), which is not followed. Configure the address that it leads to.", status)
	case said != "":
		why.Message = fmt.Sprintf("It did not accept the message (%d %s).", status, plaintext.Line(said, maxTest))
	default:
		why.Message = fmt.Sprintf("It did not accept the message (%d).", status)
	}
	return f
}

// Unreachable is the failure of a receiver that did not answer. The cause is for the log, and must not have the address.
func Unreachable(slow bool, cause error) *Failure {
	message := "It cannot be reached."
	if slow {
		message = "It does not answer."
	}
	return &Failure{Why: report.Error{Kind: report.Unavailable, Message: message, Cause: cause}}
}

// Forbidden is the failure of an address that the manager does not connect to.
func Forbidden() *Failure {
	return &Failure{Why: report.Error{Kind: report.Rejected, Message: "Its address is in a private network, or is not https. " +
		"Your operator can allow networks with --webhook-allow-networks."}}
}

// RetryAfter is when to send an event again, after a number of failures in a row.
func RetryAfter(kind report.Kind, failures int) time.Duration {
	most := maxUnavailable
	if kind == report.Rejected {
		most = maxRejected
	}
	return min(most, firstRetry<<min(failures-1, 12))
}

// Problem is a text for the status of a Suite.
func Problem(text string) string { return plaintext.Line(text, maxProblem) }

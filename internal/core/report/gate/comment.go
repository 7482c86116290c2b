package gate

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// The bounds of texts, in bytes. Those of the message and of the comment are in the schema of the DeploymentReview.
const (
	maxMessage  = 1024
	maxComment  = 4096
	maxSentence = 240 // in a comment, of which GitHub takes 1,024
	maxAdvice   = 200
	maxName     = 60 // of a test or service in a comment
	maxRuns     = 5  // of an Environment that a comment links
	maxFailures = 3  // of a run that a comment names
)

// Bounded returns a message as the status takes it: one line.
func Bounded(message string) string { return plaintext.Line(message, maxMessage) }

func (o Observation) decision(a answer, now time.Time) *v1alpha1.ReviewDecision {
	if o.Review.Status.Decision != nil {
		a.message = "It was approved, but the approval was not delivered. " + a.message
	}
	return &v1alpha1.ReviewDecision{
		State: a.state, Verdict: string(a.verdict), Message: Bounded(a.message), Comment: o.comment(a, now), Time: metav1.NewTime(now),
	}
}

// comment is Markdown. What others have written is in code spans, where code hosts interpret nothing and notify no one. A line that does
// not fit is left out with all that follow.
func (o Observation) comment(a answer, now time.Time) string {
	limit := maxComment
	if own := codehost.Of(o.Review.Spec.HostingService).ApprovalComment; own > 0 {
		limit = min(limit, own)
	}
	short := min(maxSentence, limit/2) // GitLab takes 255 bytes
	lines := []string{fmt.Sprintf("**%s** by Postflight: %s", a.state, plaintext.CodeSpan(a.message, short))}
	for _, g := range o.Gates {
		for _, r := range g.Requires {
			lines = append(lines, o.required(r, now)...)
		}
	}
	if a.state == v1alpha1.ReviewRejected {
		advice := again(o.Review)
		if a.advice != "" && limit > maxAdvice+2*maxSentence {
			advice = plaintext.CodeSpan(a.advice, maxAdvice) + " " + advice
		}
		lines = append(lines[:1], append([]string{advice}, lines[1:]...)...) // what to do must not be left out
	}
	b := strings.Builder{}
	for i, line := range lines {
		separator := "\n"
		if i == 0 {
			separator = ""
		}
		if b.Len()+len(separator)+len(line) > limit {
			break
		}
		b.WriteString(separator + line)
	}
	return b.String()
}

func again(r *v1alpha1.DeploymentReview) string {
	if codehost.Of(r.Spec.HostingService).ReviewsRuns {
		return "To ask again, re-run the job."
	}
	return "To ask again, retry the job."
}

func (o Observation) required(r Required, now time.Time) (lines []string) {
	if !r.Known || len(r.Requirements) == 0 {
		return nil
	}
	page := suite.VerdictURL(o.PublicURL, o.Review.Namespace, r.Environment, r.Commit.Revision)
	lines = append(lines, fmt.Sprintf("\n%s %s", r.State, link("on "+r.Environment, page)))
	for i, q := range r.Requirements {
		if i == maxRuns {
			return append(lines, fmt.Sprintf("- and %d more", len(r.Requirements)-maxRuns))
		}
		lines = append(lines, o.trigger(q, now))
	}
	return lines
}

func (o Observation) trigger(q verdict.Requirement, now time.Time) string {
	name := q.Trigger
	if q.Run != nil {
		name = link(q.Trigger, suite.PageURL(o.PublicURL, q.Run.Namespace, q.Run.Name))
	}
	line := "- " + name
	if service := plaintext.CodeSpan(q.Service, maxName); service != "" {
		line += " " + service
	}
	line += ": " + string(q.State)
	if q.Run != nil && q.Run.Status.CompletionTime != nil {
		line += " " + plaintext.Ago(q.Run.Status.CompletionTime.Time, now)
	}
	failures := q.NewFailures()
	for i, failure := range failures[:min(len(failures), maxFailures)] {
		line += []string{", new: ", ", "}[min(i, 1)] + plaintext.CodeSpan(failure, maxName)
	}
	return line
}

// link is for names that are DNS labels.
func link(text, url string) string {
	if url == "" {
		return text
	}
	return fmt.Sprintf("[%s](<%s>)", text, url)
}

// Progress is the comment that says what is waited for.
func Progress(waits string) string {
	return "Postflight waits: " + plaintext.CodeSpan(waits, maxMessage/2)
}

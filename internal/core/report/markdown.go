package report

import (
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// summary puts all untrusted text into code spans, where code hosts interpret no HTML, links or names.
func summary(s *v1alpha1.Suite, page string) string {
	b := &strings.Builder{}
	for _, f := range facts(s) {
		if f.value != "" {
			fmt.Fprintf(b, "- **%s:** %s\n", f.name, f.value)
		}
	}
	writeFailures(b, s.Status.Results)
	if page != "" {
		fmt.Fprintf(b, "\n[Run](<%s>) · [Log](<%s#log>) · [Test report](<%s#results>)\n", page, page, page)
	}
	return b.String()
}

type fact struct{ name, value string }

func facts(s *v1alpha1.Suite) []fact {
	d := s.Spec.Deployment
	list := []fact{
		{"Environment", Code(s.Spec.Environment, maxShown)},
		{"URL", Code(d.URL, maxShown)},
		{"Branch", Code(d.Branch, maxShown)},
	}
	if link := pullRequestLink(s); link != "" {
		list = append(list, fact{"Pull request", link})
	}
	if s.Spec.Attempt > 1 {
		list = append(list, fact{"Attempt", fmt.Sprint(s.Spec.Attempt)})
	}
	if !s.Finished() {
		return list
	}
	outcome := state.Of(s.State()).Outcome
	if n := quarantinedFailures(s); n > 0 {
		outcome += ", with " + results.QuarantinedFailures(n)
	}
	if took := duration(s); took > 0 {
		outcome += " in " + plaintext.Duration(took)
	}
	list = append(list, fact{"Outcome", outcome}, fact{"Message", Code(message(s), maxMessage)})
	if r := s.Status.Results; r != nil {
		list = append(list, fact{"Tests", counts(r)})
	}
	return list
}

func pullRequestLink(s *v1alpha1.Suite) string {
	number := PullRequestNumber(s)
	if number == 0 {
		return ""
	}
	r := v1alpha1.SuiteReport{HostingService: s.Spec.Deployment.HostingService}
	if s.Status.Report != nil {
		r = *s.Status.Report
	}
	text := fmt.Sprint(codehost.Of(r.HostingService).Sign, number)
	if link := PullRequestURL(PullRequestOn(r).URL); link != "" {
		return fmt.Sprintf("[%s](<%s>)", text, link)
	}
	return Code(text, maxShown)
}

func writeFailures(b *strings.Builder, r *v1alpha1.TestResults) {
	if r == nil || len(r.Failures) == 0 {
		return
	}
	b.WriteString("\n### Failed tests\n\n")
	shown := int32(0)
	for _, f := range r.Failures {
		line := failure(f)
		if b.Len()+len(line) > maxSummary {
			break
		}
		b.WriteString(line)
		shown++
	}
	if more := r.Failed - shown; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
}

func failure(f v1alpha1.TestFailure) string {
	line := "- "
	if f.History == v1alpha1.FailureNew {
		line += "**New:** "
	}
	switch {
	case f.Quarantine != "":
		line += "**Quarantined** by " + Code(f.Quarantine, maxTestName) + ": "
	case f.ExpiredQuarantine != "":
		line += "**No longer quarantined** by " + Code(f.ExpiredQuarantine, maxTestName) + ", which has expired: "
	}
	line += Code(f.Name, maxTestName)
	if f.File != "" {
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		line += " in " + Code(place, maxTestName)
	}
	if text := Code(f.Message, maxTestMessage); text != "" {
		line += ": " + text
	}
	return line + "\n"
}

// Code returns untrusted text as a code span.
func Code(text string, limit int) string { return plaintext.CodeSpan(text, limit) }

// mute returns plain text of one line, without mentions of people.
func mute(text string, limit int) string {
	return plaintext.Line(strings.ReplaceAll(text, "@", "(at)"), limit)
}

package report

import (
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// summary is the document of the run, with links to its page and to its pull request.
func summary(s *v1alpha1.Suite, page string) string {
	var links []string
	if page != "" {
		links = append(links, fmt.Sprintf("[Run](<%s>)", page), fmt.Sprintf("[Log](<%s#log>)", page),
			fmt.Sprintf("[Test report](<%s#results>)", page))
	}
	if link := pullRequestLink(s); link != "" {
		links = append(links, "Pull request "+link)
	}
	return strings.TrimSpace(failure.Markdown(failure.Of(failure.Observation{Suite: s, Page: page}))+"\n"+strings.Join(links, " · ")) + "\n"
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
	return plaintext.CodeSpan(text, maxShown)
}

// mute returns plain text of one line, without mentions of people.
func mute(text string, limit int) string {
	return plaintext.Line(strings.ReplaceAll(text, "@", "(at)"), limit)
}

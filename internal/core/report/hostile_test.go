package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/hostile"
)

// TestHostileInputs: whatever a test, a commit or a notification says, code hosts show it as data.
func TestHostileInputs(t *testing.T) {
	o := report.Options{PublicURL: "https://ci.example.com"}
	for _, input := range hostile.Inputs() {
		t.Run(input.Name, func(t *testing.T) {
			text := input.Text
			s := aSuite(in(v1alpha1.Failed(text)), failed(2, 2), func(s *v1alpha1.Suite) {
				s.Spec.Deployment = v1alpha1.Deployment{
					Branch: text, SHA: text, URL: text, CommitURL: text, CommitMessage: text, CommitAuthor: text, Repository: text, Service: text,
					PullRequestNumber: 5,
				}
				s.Status.Report = &v1alpha1.SuiteReport{PullRequest: &v1alpha1.PullRequestReport{Number: 5, URL: text}}
				s.Status.Results.Failures = []v1alpha1.TestFailure{{Name: text, File: text, Line: 1, Message: text, History: v1alpha1.FailureNew}}
			})
			c := report.Of(s, o)
			hostile.Markdown(t, "the summary", c.Summary, 65535, "https://ci.example.com/")
			comment := report.CommentOf(report.Run{Suite: s, Trigger: aTrigger()}, nil, 5, o)
			body, found := strings.CutPrefix(comment.Body, comment.Marker+"\n")
			if !found {
				t.Errorf("the comment does not begin with its marker: %.200q", comment.Body)
			}
			hostile.Markdown(t, "the comment", body, 65535, "https://ci.example.com/")
			for what, line := range map[string]string{
				"the title": c.Title, "the name": c.Name, "the description of the deployment": report.DeploymentDescription(s),
			} {
				hostile.Plain(t, what, line, 255)
				if strings.ContainsAny(line, "@\n") {
					t.Errorf("%s is %q", what, line)
				}
			}
			for _, a := range c.Annotations {
				hostile.Plain(t, "the title of an annotation", a.Title, 4*255)
				hostile.Plain(t, "an annotation", a.Message, 65535)
				if utf8.RuneCountInString(a.Title) > 255 {
					t.Errorf("an annotation has a title of %d characters", utf8.RuneCountInString(a.Title))
				}
			}
		})
	}
}

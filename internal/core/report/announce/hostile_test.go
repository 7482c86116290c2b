package announce_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/test/hostile"
)

// TestHostileInputs: whatever a test, a commit or a notification says, chats show it as code or as escaped text: only the run is a link,
// and no person is mentioned.
func TestHostileInputs(t *testing.T) {
	slack := announce.Receivers(nil, aTrigger())[0]
	for _, input := range hostile.Inputs() {
		t.Run(input.Name, func(t *testing.T) {
			text := input.Text
			s := aRun("Failed", withResults, func(s *v1alpha1.Suite) {
				s.Spec.Deployment = v1alpha1.Deployment{
					Branch: text, SHA: text, URL: text, CommitURL: text, CommitMessage: text, CommitAuthor: text, Repository: text, Service: text,
				}
				s.Status.Conditions[0].Message = text
				for i := range s.Status.Results.Failures {
					s.Status.Results.Failures[i] = v1alpha1.TestFailure{Name: text, File: text, Message: text}
				}
			})
			m, body := composed(t, slack, s, announce.Events(s)[2])
			var strict struct{ Text string }
			if err := json.Unmarshal(m.Body, &strict); err != nil {
				t.Fatal(err)
			}
			for _, said := range append(sections(t, body), strict.Text) {
				// A mention is broken by a character without a width, on purpose.
				hostile.Plain(t, "the message", strings.ReplaceAll(said, "@\u200b", ""), 3*3000)
				if strings.Contains(strings.ReplaceAll(said, "@\u200b", ""), "@") {
					t.Errorf("a person may be mentioned: %.500q", said)
				}
				for _, line := range strings.Split(said, "\n") {
					if link := strings.TrimPrefix(line, "*<https://ci.example.com/"); strings.Contains(strings.TrimPrefix(link, "<https://ci.example.com/"), "<") {
						t.Errorf("there is a link or a mention: %.500q", line)
					}
					if strings.Count(line, "`")%2 != 0 {
						t.Errorf("code ends early: %.500q", line)
					}
				}
			}
		})
	}
}

package announce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// chat is a message to an incoming webhook of Slack. Other chats show the text, and Slack the blocks.
// A channel and what belongs to threads are only in calls of Slack's API.
type chat struct {
	Channel  string        `json:"channel,omitempty"`
	TS       string        `json:"ts,omitempty"`        // of the message to change
	ThreadTS string        `json:"thread_ts,omitempty"` // of the message to answer
	Metadata *chatMetadata `json:"metadata,omitempty"`

	Text   string  `json:"text"`
	Blocks []block `json:"blocks"`

	UnfurlLinks bool `json:"unfurl_links"`
	UnfurlMedia bool `json:"unfurl_media"`
}

type block struct {
	Type string     `json:"type"`
	Text *blockText `json:"text,omitempty"`
}

// blockText is verbatim, so that Slack adds no links and mentions.
type blockText struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Verbatim bool   `json:"verbatim"`
}

func slackMessage(to Receiver, s *v1alpha1.Suite, page string) any {
	f := failure.Of(failure.Observation{Suite: s, Page: page})
	title := headline(f)
	linked := title
	if page != "" {
		linked = fmt.Sprintf("<%s|%s>", escape(page), title)
	}
	c := chatOf(linked, facts(f), code(f.Summary, maxText), nextSteps(f), failedTests(s, to.shown(s)))
	c.Channel = to.Channel
	return c
}

// chatOf omits texts that are empty.
func chatOf(title string, texts ...string) chat {
	c := chat{Text: title, Blocks: []block{section("*" + title + "*")}}
	for _, text := range texts {
		if text != "" {
			c.Text += "\n" + text
			c.Blocks = append(c.Blocks, section(text))
		}
	}
	return c
}

func section(text string) block {
	return block{Type: "section", Text: &blockText{Type: "mrkdwn", Text: text, Verbatim: true}}
}

func headline(f httpapi.Failure) string {
	sign, word := ":red_circle:", state.Of(f.State).OutcomeInText()
	if f.Green {
		sign, word = ":large_green_circle:", "recovered" // chats are told of no other pass
	}
	test := v1alpha1.TestName(f.Tested.Trigger, f.Tested.Service)
	return untrusted(fmt.Sprintf("%s %s %s in %s", sign, test, word, f.Tested.Environment), maxHeadline)
}

func facts(f httpapi.Failure) string {
	var lines []string
	for _, fact := range []struct{ name, value string }{
		{"Branch", f.Tested.Branch}, {"Commit", f.Tested.SHA}, {"URL", f.Tested.URL}, {"Run", f.Tested.Namespace + "/" + f.Run},
	} {
		if text := code(fact.value, maxFact); text != "" {
			lines = append(lines, fact.name+": "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// nextSteps says what to do. Nothing is asked of people when a run has recovered.
func nextSteps(f httpapi.Failure) string {
	if f.Green {
		return ""
	}
	var lines []string
	for _, step := range f.Next[:min(len(f.Next), maxSteps)] {
		lines = append(lines, "→ "+code(step, maxStep))
	}
	return strings.Join(lines, "\n")
}

// shown are the failures to list: only new ones for a chat that hears of no others, if there are any.
func (r Receiver) shown(s *v1alpha1.Suite) []v1alpha1.TestFailure {
	if s.Status.Results == nil {
		return nil
	}
	all := s.Status.Results.Failures
	if !r.hearsOf(v1alpha1.NotifyFailure) && slices.ContainsFunc(all, failsAnew) {
		return slices.DeleteFunc(slices.Clone(all), func(f v1alpha1.TestFailure) bool { return !failsAnew(f) })
	}
	return all
}

// failedTests lists some, new ones first, as the status of the Suite does.
func failedTests(s *v1alpha1.Suite, shown []v1alpha1.TestFailure) string {
	if len(shown) == 0 {
		return ""
	}
	var lines []string
	for _, f := range shown[:min(len(shown), maxTests)] {
		line := "• "
		if f.History == v1alpha1.FailureNew {
			line += "New: "
		}
		if f.Quarantine != "" {
			line += "Quarantined: "
		}
		lines = append(lines, line+code(f.Name, maxTest))
	}
	if more := int(s.Status.Results.Failed) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("• and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// code returns untrusted text as code, in which chats interpret nothing, or "".
func code(text string, limit int) string {
	if text = untrusted(text, limit); text == "" {
		return ""
	}
	return "`" + text + "`"
}

// untrusted mentions no person and no group, neither as <!channel> in Slack nor as @channel elsewhere, and cannot end the code or link
// around it.
func untrusted(text string, limit int) string {
	return strings.NewReplacer("@", "@\u200b", "`", "'", "|", "¦").Replace(escape(plaintext.Line(text, limit)))
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

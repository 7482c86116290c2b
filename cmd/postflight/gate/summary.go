package gate

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// The bounds of texts in a summary, in bytes, as people read them in a list.
const (
	maxSummaryName = 200
	maxSummaryText = 400
)

// appendSummary adds to the file: steps of a job may share it.
func appendSummary(file string, runs []*client.Run) error {
	return appendTo(file, summaryOf(runs))
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// summaryOf is Markdown. All untrusted text is in code spans, where no HTML, links or names are interpreted.
func summaryOf(runs []*client.Run) string {
	b := &strings.Builder{}
	b.WriteString("### Postflight\n\n")
	for _, r := range runs {
		mark := "❌"
		if state.Of(r.State).Green {
			mark = "✅"
			if r.Results != nil && r.Results.Quarantined > 0 {
				mark = "⚠️"
			}
		}
		tests, text := cli.TestsOf(r.Results), plaintext.CodeSpan(r.Message, maxSummaryText)
		if state.Of(r.State).EndShown == state.Message {
			tests = ""
		}
		fmt.Fprintf(b, "- %s %s %s", mark, plaintext.CodeSpan(r.Trigger, maxSummaryName),
			plaintext.CodeSpan(strings.ToLower(r.State), maxSummaryName))
		if tests != "" {
			b.WriteString(": " + tests)
		} else if text != "" {
			b.WriteString(": " + text)
		}
		writeLink(b, "Run", r.URL)
		b.WriteString("\n")
		writeFailures(b, r.Results)
	}
	b.WriteString("\n")
	return b.String()
}

func writeLink(b *strings.Builder, text, url string) {
	if strings.HasPrefix(url, "http") && !strings.ContainsAny(url, "<> \n") {
		fmt.Fprintf(b, " · [%s](<%s>)", text, url)
	}
}

func writeFailures(b *strings.Builder, results *client.TestResults) {
	if results == nil {
		return
	}
	for _, f := range results.Failures {
		line := "  - " + plaintext.CodeSpan(f.Name, maxSummaryName)
		if f.History == string(v1alpha1.FailureNew) {
			line = "  - **new** " + plaintext.CodeSpan(f.Name, maxSummaryName)
		}
		if f.Quarantine != "" {
			line += " (quarantined by " + plaintext.CodeSpan(f.Quarantine, maxSummaryName) + ")"
		}
		if text := plaintext.CodeSpan(f.Message, maxSummaryText); text != "" {
			line += ": " + text
		}
		b.WriteString(line + "\n")
	}
	if more := int(results.Failed) - len(results.Failures); more > 0 {
		fmt.Fprintf(b, "  - and %d more\n", more)
	}
}

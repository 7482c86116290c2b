package gate

import (
	"fmt"
	"io"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// gateError has the exit code of a verdict. A state that only a later server knows is trouble.
func gateError(state string) error {
	switch state {
	case httpapi.VerdictPassed:
		return nil
	case httpapi.VerdictFailed, httpapi.VerdictWithdrawn:
		return cli.Exitf(cli.ExitFailed, "not green: %s", state)
	case httpapi.VerdictRunning, httpapi.VerdictStale:
		return cli.Exitf(cli.ExitCanceled, "not green: %s", state)
	default:
		return cli.Exitf(cli.ExitTrouble, "not green: %s", cli.Clean(state))
	}
}

// statusOf shows a verdict as commands that wait show a run.
func statusOf(v *client.Verdict) RunStatus {
	s := RunStatus{Run: cli.ShortSHA(v.SHA) + " on " + v.Environment, Verdict: waiting, Reason: v.Sentence, URL: v.URL, state: v.State}
	switch v.State {
	case httpapi.VerdictRunning, httpapi.VerdictNone:
	case httpapi.VerdictPassed:
		s.Verdict = passed
	case httpapi.VerdictFailed, httpapi.VerdictWithdrawn:
		s.Verdict = failed
	default:
		s.Verdict = noOutcome
	}
	return s
}

func nameOf(trigger, service string) string { return v1alpha1.TestName(trigger, service) }

// printVerdict says why, what does not pass, and what to do.
func printVerdict(out io.Writer, v *client.Verdict) error {
	var b strings.Builder
	fmt.Fprintln(&b, cli.Clean(v.Sentence))
	for _, r := range v.Requirements {
		if r.State == httpapi.VerdictPassed {
			continue
		}
		for _, part := range []string{r.State, nameOf(r.Trigger, r.Service), r.Message, r.URL} {
			if part != "" {
				b.WriteString("  " + cli.Clean(part))
			}
		}
		b.WriteString("\n")
		for _, name := range r.NewFailures {
			fmt.Fprintln(&b, "    new: "+cli.Clean(name))
		}
	}
	if v.Advice != "" {
		fmt.Fprintln(&b, cli.Clean(v.Advice))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// verdictSummary is Markdown, with all untrusted text in code spans.
func verdictSummary(v *client.Verdict) string {
	b := &strings.Builder{}
	mark := "❌"
	if v.State == httpapi.VerdictPassed {
		mark = "✅"
	}
	fmt.Fprintf(b, "### Postflight\n\n- %s %s: %s", mark, plaintext.CodeSpan(v.State, maxSummaryName),
		plaintext.CodeSpan(v.Sentence, maxSummaryText))
	writeLink(b, "Verdict", v.URL)
	b.WriteString("\n")
	for _, r := range v.Requirements {
		if r.State == httpapi.VerdictPassed {
			continue
		}
		fmt.Fprintf(b, "  - %s %s", plaintext.CodeSpan(nameOf(r.Trigger, r.Service), maxSummaryName), plaintext.CodeSpan(r.State, maxSummaryName))
		if text := plaintext.CodeSpan(r.Message, maxSummaryText); text != "" {
			b.WriteString(": " + text)
		}
		writeLink(b, "Run", r.URL)
		b.WriteString("\n")
		for _, name := range r.NewFailures {
			b.WriteString("    - **new** " + plaintext.CodeSpan(name, maxSummaryName) + "\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// TestsOf sums up the tests of a run; "" if nothing is known of them.
func TestsOf(r *client.TestResults) string {
	if r == nil {
		return ""
	}
	counted := "tests"
	if r.Tests == 1 {
		counted = "test"
	}
	parts := []string{fmt.Sprintf("%d %s passed", r.Passed, counted)}
	if r.Failed > 0 {
		parts[0] = fmt.Sprintf("%d of %d %s failed", r.Failed, r.Tests, counted)
	}
	compared := r.ComparedWith != ""
	for _, part := range []struct {
		count int32
		shown bool
		what  string
	}{
		{r.Quarantined, r.Quarantined > 0, "quarantined"}, {r.NewFailures, compared && r.Failed > 0, "new"}, {r.Fixed, r.Fixed > 0, "fixed"},
		{r.Skipped, r.Skipped > 0, "skipped"}, {r.Flaky, r.Flaky > 0, "flaky"}, {r.TestsExpected, r.TestsExpected > 0, "expected"},
	} {
		if part.shown {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// StateOf is the state of a run. One with quarantined failures, or with far fewer tests than before, is no plain pass.
func StateOf(r *client.Run) string {
	var but []string
	if state.Of(r.State).Green && r.Results != nil && r.Results.Quarantined > 0 {
		but = append(but, fmt.Sprintf("%d quarantined", r.Results.Quarantined))
	}
	if r.Results != nil && r.Results.TestsExpected > 0 {
		but = append(but, fmt.Sprintf("%d of %d tests ran", r.Results.Tests-r.Results.Skipped, r.Results.TestsExpected))
	}
	if len(but) == 0 {
		return r.State
	}
	return fmt.Sprintf("%s (%s)", r.State, strings.Join(but, ", "))
}

// HistoryOf says whether a failure is new.
func HistoryOf(f client.TestFailure) string {
	text := strings.ToLower(f.History)
	switch {
	case f.Quarantine != "":
		text += " quarantined"
	case f.ExpiredQuarantine != "":
		text += " quarantine expired"
	}
	return OrDash(strings.TrimSpace(text))
}

func PositionOf(f client.TestFailure) string {
	if f.File == "" || f.Line < 1 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

func ShortSHA(sha string) string { return sha[:min(len(sha), 12)] }

func OrDash(text string) string { return cmp.Or(text, "-") }

func Size(bytes int64) string { return humanize.Bytes(uint64(max(bytes, 0))) }

// MaxFailureMessage bounds the message of a failure in a list, in bytes: a line or two of a terminal.
const MaxFailureMessage = 160

// maxEnd bounds the message of a run, in bytes: it may quote an annotation.
const maxEnd = 1024

// PrintEnd prints what there is to say about the end of a run at the end of a wait: what became of its tests, or why there are none.
func (c *Console) PrintEnd(r *client.Run) {
	if said := endOf(r); said != "" {
		c.Note("%s: %s", r.ID, said)
	}
	if r.ResultsProblem != "" {
		c.Note("%s: %s", r.ID, plaintext.Line(r.ResultsProblem, maxEnd))
	}
	if r.Results != nil {
		c.printFailures(r)
	}
}

// endOf says how the tests ended, or who canceled the run.
func endOf(r *client.Run) string {
	tests := TestsOf(r.Results)
	exitOnly := state.Of(r.State).Green && r.DecidedBy == string(v1alpha1.DecidedByExitCode)
	shown := state.Of(r.State).EndShown
	switch {
	case exitOnly && tests != "":
		return tests + "; it passed by its exit code only, because results.require of the Trigger is Nothing"
	case exitOnly:
		return "passed by its exit code only, because the Trigger asks for no results of its tests"
	case shown == state.Message, state.Of(r.State).Green && r.OnlyFailedOf != "": // its message counts the tests
		return plaintext.Line(r.Message, maxEnd)
	case shown == state.MessageAndTests:
		return strings.TrimSpace(plaintext.Line(r.Message, maxEnd) + " " + tests)
	default:
		return tests
	}
}

func (c *Console) printFailures(r *client.Run) {
	for _, f := range r.Results.Failures {
		line := "  " + c.failureMark(f) + Clean(f.Name)
		if position := PositionOf(f); position != "" {
			line += "  (" + Clean(position) + ")"
		}
		if f.Message != "" {
			line += "  " + plaintext.Line(f.Message, MaxFailureMessage)
		}
		c.Print(line)
	}
	if more := int(r.Results.Failed) - len(r.Results.Failures); more > 0 {
		c.Note("  and %d more", more)
	}
	if r.Results.Failed > 0 && r.URL != "" {
		c.Note("  %s", r.URL)
	}
}

// failureMark starts the line of a failure: red if it is new, on a terminal.
func (c *Console) failureMark(f client.TestFailure) string {
	mark := "✗ "
	if f.Quarantine != "" {
		mark = "~ quarantined "
	}
	if f.History != "" {
		mark += fmt.Sprintf("%-7s", Clean(strings.ToLower(f.History)))
	}
	if f.History != string(v1alpha1.FailureKnown) && f.Quarantine == "" {
		return c.Paint(Red, mark)
	}
	return mark
}

package runs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

type ResultsOptions struct {
	Options
	JunitOptions
}

func newResults() *cobra.Command {
	o := &ResultsOptions{}
	cmd := &cobra.Command{
		Use:   "results RUN",
		Short: "Show which tests of a run failed, the new failures first",
		Long: `Shows how many tests of a run passed and failed, and the first 20 that failed: first those that did not fail in the
last run of the same Trigger and Environment. Below, it shows what the report says of each failure, at most 4 KiB, and the
files that belong to it; these are in the object store, which only the server reads. --junit writes the whole report.

The exit code is 0, whatever the results are; "postflight wait" has one that gates a pipeline.

` + twoWays,
		Example: `  postflight runs results smoke-3f9c2k7q5x0a1b2c

  # The new failures, for a script
  postflight runs results smoke-3f9c2k7q5x0a1b2c -o json | jq -r '.results.failures[]? | select(.history == "New") | .name'

  # What the report says of the first failure
  postflight runs results smoke-3f9c2k7q5x0a1b2c -o json | jq -r '.results.failures[0].text'

  # All results, for a viewer of JUnit reports
  postflight runs results smoke-3f9c2k7q5x0a1b2c --junit report.xml`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.CheckJUnit() },
	}
	cmd.RunE = o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	o.AddJUnitFlag(cmd)
	o.addFlags(cmd)
	return cmd
}

func (o *ResultsOptions) Run(ctx context.Context, id string) error {
	if o.File != "" {
		r, err := o.Source.Run(ctx, id)
		if err != nil {
			return err
		}
		if err := o.WriteJUnit(ctx, o.Console, o.Source, []*client.Run{r}); err != nil {
			return err
		}
	}
	r, err := o.Source.Results(ctx, id)
	if err != nil {
		return err
	}
	return o.Console.Result(r, func() error {
		if r.Results == nil && r.Problem != "" {
			o.Console.Note("The run %s has no results. Its state is %s. %s", id, r.State, r.Problem)
			return nil
		}
		if r.Results == nil {
			o.Console.Note("The run %s has no results. Its state is %s. A Trigger with \"results: {}\" and tests that write JUnit reports "+
				"into $POSTFLIGHT_RESULTS_DIR have them.", id, r.State)
			return nil
		}
		return o.print(r)
	})
}

func (o *ResultsOptions) print(r *client.RunResults) error {
	all := r.Results
	o.Console.Note("%s.", cli.TestsOf(all))
	if len(all.FlakyTests) > 0 {
		o.Console.Note("Flaky: %s.", andMore(all.FlakyTests, int(all.Flaky)))
	}
	if r.Problem != "" {
		o.Console.Note("%s", r.Problem)
	}
	if len(all.Failures) == 0 {
		return nil
	}
	rows := [][]string{{"HISTORY", "TEST", "FILE", "MESSAGE"}}
	for _, f := range all.Failures {
		message := plaintext.Line(f.Message, cli.MaxFailureMessage)
		rows = append(rows, []string{cli.HistoryOf(f), f.Name, cli.OrDash(cli.PositionOf(f)), cli.OrDash(message)})
	}
	if more := int(all.Failed) - len(all.Failures); more > 0 {
		o.Console.Note("The first %d failed tests; --junit FILE has all.", len(all.Failures))
	}
	if err := o.Console.Table(rows); err != nil {
		return err
	}
	return o.printDetails(r)
}

// printDetails prints what the reports say of each failure.
func (o *ResultsOptions) printDetails(r *client.RunResults) error {
	var text strings.Builder
	files := false
	for _, f := range r.Results.Failures {
		if f.Text == "" && !f.TextCut && len(f.Attachments) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n%s\n", cli.Clean(f.Name))
		if f.Message != "" && !strings.Contains(f.Text, f.Message) {
			fmt.Fprintf(&text, "  %s\n", cli.Clean(f.Message))
		}
		text.WriteString(bodyOf(f))
		for _, a := range f.Attachments {
			files = true
			fmt.Fprintf(&text, "  File: %s\n", cli.Clean(a.Path))
		}
	}
	_, err := io.WriteString(o.Console.Out, text.String())
	if files {
		o.Console.Note("To get the files: postflight runs artifacts download %s", r.Run)
	}
	return err
}

// maxFailureText bounds the text of a failure, in bytes. Servers send 4 KiB.
const maxFailureText = 8 << 10

// bodyOf is the text of a failure, indented. No line of it begins like a command to a CI system, which skips spaces.
func bodyOf(f client.TestFailure) string {
	var b strings.Builder
	body, _ := plaintext.Block(f.Text, maxFailureText)
	for line := range strings.Lines(body) {
		b.WriteString(strings.TrimRight("  | "+line, " \n") + "\n")
	}
	switch {
	case f.TextCut && body == "":
		b.WriteString("  (The text was left out: the run has too many long ones. Its report has it.)\n")
	case f.TextCut:
		b.WriteString("  (The text was cut here. The report has the rest.)\n")
	}
	return b.String()
}

func andMore(names []string, all int) string {
	text := strings.Join(names, ", ")
	if more := all - len(names); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

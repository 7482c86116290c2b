package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

type runsResultsOptions struct {
	runsOptions
	junitOptions
}

func newRunsResults() *cobra.Command {
	o := &runsResultsOptions{}
	cmd := &cobra.Command{
		Use:   "results RUN",
		Short: "Show which tests of a run failed, the new failures first",
		Long: `Shows how many tests of a run passed and failed, and the first 20 that failed: first those that did not fail in the
last run of the same Trigger and Environment. --junit writes the whole report.

The exit code is 0, whatever the results are; "postflight wait" has one that gates a pipeline.

` + twoWays,
		Example: `  postflight runs results smoke-3f9c2k7q5x0a1b2c

  # The new failures, for a script
  postflight runs results smoke-3f9c2k7q5x0a1b2c -o json | jq -r '.results.failures[]? | select(.history == "New") | .name'

  # All results, for a viewer of JUnit reports
  postflight runs results smoke-3f9c2k7q5x0a1b2c --junit report.xml`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.checkJUnit() },
	}
	cmd.RunE = o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) })
	o.addJUnitFlag(cmd)
	o.addFlags(cmd)
	return cmd
}

// runResults is what -o json prints.
type runResults struct {
	Run     string              `json:"run"`
	State   string              `json:"state"`
	Results *client.TestResults `json:"results,omitempty"`
}

func (o *runsResultsOptions) run(ctx context.Context, id string) error {
	r, err := o.source.Run(ctx, id)
	if err != nil {
		return err
	}
	if err := o.writeJUnit(ctx, o.console, o.source, []*client.Run{r}); err != nil {
		return err
	}
	return o.console.result(runResults{r.ID, r.State, r.Results}, func() error {
		if r.Results == nil {
			o.console.note("The run %s has no results. Its state is %s. A Trigger with \"results: {}\" and tests that write JUnit reports "+
				"into $POSTFLIGHT_RESULTS_DIR have them.", id, r.State)
			return nil
		}
		o.console.note("%s.", testsOf(r.Results))
		if len(r.Results.Failures) == 0 {
			return nil
		}
		rows := [][]string{{"HISTORY", "TEST", "FILE", "MESSAGE"}}
		for _, f := range r.Results.Failures {
			rows = append(rows, []string{historyOf(f), f.Name, orDash(positionOf(f)), orDash(plaintext.Line(f.Message, maxFailureMessage))})
		}
		if more := int(r.Results.Failed) - len(r.Results.Failures); more > 0 {
			o.console.note("The first %d failed tests; --junit FILE has all.", len(r.Results.Failures))
		}
		return o.console.table(rows)
	})
}

package tests

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type ListOptions struct {
	options
	Limit int
}

func newList() *cobra.Command {
	o := &ListOptions{}
	cmd := &cobra.Command{
		Use:     "list [PART-OF-A-NAME]",
		Aliases: []string{"ls"},
		Short:   "List tests, the least reliable first",
		Long: `Lists the tests that failed or were repeated, the least reliable first. With a part of a name, also those that passed.

RUNS counts the runs of the Trigger and Environment that ran all tests and have complete results. LAST shows the last 24 of them, the
newest at the right:
. passed, F failed, R was repeated and passed, s was skipped, - was not in the run.

` + whatIsKnown,
		Example: `  # What is unreliable on staging?
  postflight tests list --environment staging --days 7

  # All tests of the cart
  postflight tests list cart --limit 0

  # The names of those that fail now, for a script
  postflight tests list --limit 0 -o json | jq -r '.[] | select(.outcomes | test("f[s-]*$")) | .name'`,
		Args:    cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	cmd.RunE = o.Command(func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			o.Search = args[0]
		}
		return o.Run(ctx)
	})
	cmd.Flags().IntVar(&o.Limit, "limit", 20,
		"how many; 0 for all that the server lists: of each Trigger, Environment and day 200 that failed, and 1,000 that a search finds")
	o.addFlags(cmd, defaultDays)
	return cmd
}

func (o *ListOptions) Run(ctx context.Context) error {
	tests, more, err := cli.Collect(o.Client.Tests(ctx, o.TestFilter), o.Limit)
	if err != nil {
		return err
	}
	if more {
		o.Console.Note("Showing the first %d; --limit 0 shows all.", o.Limit)
	}
	return o.Console.Result(tests, func() error {
		switch {
		case len(tests) > 0:
			return o.Console.Table(o.rows(tests))
		case o.Search != "":
			o.Console.Note("No test of these %d days has %q in its name.", o.Days, o.Search)
		default:
			o.Console.Note("No test failed in these %d days. With a part of a name, tests that passed are listed, too.", o.Days)
		}
		return nil
	})
}

func (o *ListOptions) rows(tests []client.TestStats) [][]string {
	rows := [][]string{{"TEST", "IN", "FAILED", "REPEATED", "RUNS", "TAKES", "LAST", "FAILS SINCE"}}
	for _, t := range tests {
		since := "-"
		switch {
		case t.FailsSince != nil:
			since = cli.Age(*t.FailsSince, o.now())
		case strings.HasSuffix(strings.TrimRight(t.Outcomes, "s-"), "f"):
			since = "longer" // than LAST shows
		}
		rows = append(rows, []string{
			t.Name, where(t.Place), fmt.Sprint(t.Failed), fmt.Sprint(t.Flaky), fmt.Sprint(t.Runs), took(t.MedianMilliseconds),
			strip(t.Outcomes), since,
		})
	}
	return rows
}

// strip makes failures stand out, also without colors.
func strip(outcomes string) string {
	marks := []byte(outcomes)
	for i, outcome := range marks {
		switch outcome {
		case 'p':
			marks[i] = '.'
		case 'f':
			marks[i] = 'F'
		case 'r':
			marks[i] = 'R'
		}
	}
	return cli.OrDash(string(marks))
}

// Command figures runs the benchmarks of hack/figures.txt, or compares their figures with those of another commit.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "figures", Short: "Run the benchmarks of " + tableFile + ", or compare two commits", SilenceUsage: true}
	root.AddCommand(newRun(), newCompare())
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1) //nolint:gocritic // an interrupted command has nothing left to stop
	}
}

func newRun() *cobra.Command {
	pattern := ""
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the benchmarks once, and print a line for each: NAME key=value ...",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := choose("hand", pattern)
			if err != nil {
				return err
			}
			return runOnce(cmd.Context(), rows)
		},
	}
	cmd.Flags().StringVar(&pattern, "figures", ".", "pattern of the rows, such as 'controllers/suite' or 'Memory'")
	return cmd
}

func newCompare() *cobra.Command {
	c := &comparing{}
	pattern := ""
	cmd := &cobra.Command{
		Use:   "compare --base COMMIT",
		Short: "Compare the figures of the working tree with those of a commit",
		Long: `Compare builds the benchmarks of a commit, in a worktree below .test, and of the working tree. It runs each in turns (base, new,
new, base), at least twice and at most five times, until the spread allows a verdict, and prints a line for each key of each figure:

  COMPARE figure=NAME key=KEY setting="..." base=MEDIAN new=MEDIAN ratio=NEW/BASE low=... high=... verdict=...

  same     a loss of 15 % would have shown
  better   by 5 % or more, and by more than the spread
  worse    by 5 % or more, and by more than the spread: the command fails
  unclear  the runs differ too much, or there was no time for more
  new      the base does not print it, or its benchmark fails
  gone     only the base prints it`,
		Example: `  make bench-compare BASE=HEAD~1 FIGURES=controllers/suite
  bin/figures compare --base v1.2.3 --when night --time 90m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if c.rows, err = choose(c.when, pattern); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "the commit to compare with")
	cmd.Flags().StringVar(&pattern, "figures", ".", "pattern of the rows, such as 'controllers/suite' or 'Memory'")
	cmd.Flags().StringVar(&c.when, "when", "hand", "change: quick rows whose programs differ by a file of the change; "+
		"night: all but the longest; both look only for losses. hand: all rows, with more rounds")
	cmd.Flags().DurationVar(&c.time, "time", 0, "no round begins that would take longer (0: no bound)")
	cmd.Flags().StringVar(&c.release, "release", "", "print a row for the history in "+historyFile+", too, with this name")
	cmd.Flags().StringVar(&c.wrapper, "exec", "", "a command that runs each benchmark, such as 'taskset -c 2,3'")
	if err := cmd.MarkFlagRequired("base"); err != nil {
		panic(err)
	}
	return cmd
}

func choose(when, pattern string) ([]row, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern of the figures: %w", err)
	}
	table, err := readTable()
	if err != nil {
		return nil, fmt.Errorf("%w: run this at the top of the repository", err)
	}
	rows := choice{expression, when}.of(table)
	if len(rows) == 0 {
		return nil, fmt.Errorf("no row of %s for %s matches %q", tableFile, when, pattern)
	}
	return rows, nil
}

// comparing is the command compare.
type comparing struct {
	base, when, wrapper, release string
	time                         time.Duration
	rows                         []row
}

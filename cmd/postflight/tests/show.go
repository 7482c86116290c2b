package tests

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

type ShowOptions struct {
	options
	Runs int
}

func newShow() *cobra.Command {
	o := &ShowOptions{}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the history of a test",
		Long: `Shows since when a test fails and with which commit that began, how often it passed, how long it takes, what it says when it fails,
and its last runs: for each Trigger and Environment that had it on its last day with tests.

` + whatIsKnown,
		Example: `  postflight tests show "cart > keeps items"
  postflight tests show "cart > keeps items" --environment staging --days 90 -o json`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	cmd.RunE = o.Command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.Flags().IntVar(&o.Runs, "runs", 10, "how many of the last runs to show, up to 60")
	o.addFlags(cmd, defaultDays)
	return cmd
}

func (o *ShowOptions) Run(ctx context.Context, name string) error {
	h, err := o.Client.Test(ctx, name, o.TestFilter)
	if err != nil {
		return err
	}
	return o.Console.Result(h, func() error {
		for i, p := range h.Places {
			if i > 0 {
				o.Console.Print("")
			}
			if err := o.place(p); err != nil {
				return err
			}
		}
		if h.Problem != "" {
			o.Console.Note("Warning: %s", h.Problem)
		}
		return nil
	})
}

func (o *ShowOptions) place(p client.TestInPlace) error {
	o.Console.Note("%s: %s", where(p.Place), sentence(p))
	o.Console.Note("It failed in %s, and passed only when repeated in %d. It flipped %s, and takes %s.",
		plaintext.Share(p.Failed, p.Runs, "run"), p.Flaky, plaintext.Count(p.Flips, "time"), took(p.MedianMilliseconds))
	for _, f := range p.Failures {
		o.Console.Note("%s, last in %s: %s", plaintext.Count(f.Times, "time"), f.LastRun, f.Message)
	}
	rows := [][]string{{"RUN", "CREATED", "COMMIT", "BRANCH", "TEST", "TOOK"}}
	for _, r := range p.Last[:min(len(p.Last), max(o.Runs, 0))] {
		rows = append(rows, []string{
			r.ID, r.CreatedAt.UTC().Format(time.RFC3339), cli.OrDash(cli.ShortSHA(r.SHA)), cli.OrDash(r.Branch), r.State, took(r.Milliseconds),
		})
	}
	return o.Console.Table(rows)
}

// sentence says since when a test fails.
func sentence(p client.TestInPlace) string {
	f := p.Failing
	if f == nil {
		return "it does not fail."
	}
	text := fmt.Sprintf("it has failed since %s, first with %s", f.First.CreatedAt.UTC().Format(time.RFC3339), deployment(f.First))
	if f.Runs > 1 {
		text += fmt.Sprintf(", %d runs in a row", f.Runs)
	}
	if f.Before == nil {
		return text + ". In these days, it is not known to have passed before."
	}
	return text + fmt.Sprintf(". It passed with %s before.", deployment(*f.Before))
}

package runs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type RerunOptions struct {
	Options
	Failed bool
}

func newRerun() *cobra.Command {
	o := &RerunOptions{}
	cmd := &cobra.Command{
		Use:   "rerun RUN",
		Short: "Start another attempt of a run that has ended, and print its id",
		Long: `Starts another attempt of a run that has ended, with the same deployment and variables, and prints its id. If an
attempt has been started and has not ended, it prints the id of that one.

With --failed, the attempt runs only the tests that failed, if the tests of the Trigger know how to. It passes only if every test
passed in one of the two runs, of the same commit and under the same version. It is refused if that cannot be shown.

A rerun is refused if another commit has been deployed since: it would test that one.

` + twoWays,
		Example: `  # Try again, and wait for the result
  postflight wait "$(postflight runs rerun smoke-3f9c2k7q5x0a1b2c)"

  # Only the tests that failed
  postflight wait "$(postflight runs rerun --failed smoke-3f9c2k7q5x0a1b2c)"`,
		Args: cobra.ExactArgs(1),
		RunE: o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.Failed, "failed", false, "run only the tests that failed")
	return cmd
}

func (o *RerunOptions) Run(ctx context.Context, id string) error {
	rerun := o.Source.Rerun
	if o.Failed {
		rerun = o.Source.RerunFailed
	}
	r, err := latestAttempt(ctx, rerun, id)
	if err != nil {
		return err
	}
	return o.Console.Result(r, func() error {
		o.Console.Note("Attempt %d of the run. Follow it: postflight runs logs -f %s", r.Attempt, r.ID+o.Source.place())
		fmt.Fprintln(o.Console.Out, cli.Clean(r.ID))
		return nil
	})
}

// maxAttempts bounds the search for an attempt that has not ended.
const maxAttempts = 100

// latestAttempt starts another attempt of a run that has ended, unless one has not ended. rerun starts the next attempt of a run, or
// returns it if it exists.
func latestAttempt(ctx context.Context, rerun func(ctx context.Context, id string) (*client.Run, error), id string) (*client.Run, error) {
	latest := id
	for range maxAttempts {
		r, err := rerun(ctx, latest)
		if err != nil || !Ended(r) {
			return r, err
		}
		latest = r.ID
	}
	return nil, fmt.Errorf("more than %d attempts came after the run %s. Rerun the latest of them: \"postflight runs list\" shows it",
		maxAttempts, id)
}

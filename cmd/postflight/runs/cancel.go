package runs

import (
	"context"

	"github.com/spf13/cobra"
)

type CancelOptions struct{ Options }

func newCancel() *cobra.Command {
	o := &CancelOptions{}
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run and record who did it",
		Long: `Cancels a run. Its tests get SIGTERM and their grace period; then it ends as Canceled. Its message names the API key,
or the user of the kubeconfig, that canceled it.

` + twoWays,
		Example: `  postflight runs cancel smoke-3f9c2k7q5x0a1b2c

  # All runs of a branch that wait
  postflight runs list --branch feature/x --state Queued -o json | jq -r '.[].id' | xargs -n 1 postflight runs cancel`,
		Args: cobra.ExactArgs(1),
		RunE: o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *CancelOptions) Run(ctx context.Context, id string) error {
	r, err := o.Source.Cancel(ctx, id)
	if err != nil {
		return err
	}
	return o.Console.Result(r, func() error {
		if Ended(r) {
			o.Console.Note("The run %s was canceled before.", id)
		} else {
			o.Console.Note("The run %s is being canceled.", id)
		}
		return nil
	})
}

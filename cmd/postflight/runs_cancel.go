package main

import (
	"context"

	"github.com/spf13/cobra"
)

type runsCancelOptions struct{ runsOptions }

func newRunsCancel() *cobra.Command {
	o := &runsCancelOptions{}
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
		RunE: o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runsCancelOptions) run(ctx context.Context, id string) error {
	r, err := o.source.Cancel(ctx, id)
	if err != nil {
		return err
	}
	return o.console.result(r, func() error {
		if ended(r) {
			o.console.note("The run %s was canceled before.", id)
		} else {
			o.console.note("The run %s is being canceled.", id)
		}
		return nil
	})
}

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

func newRuns() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "runs",
		Aliases: []string{"run"},
		Short:   "List, show, follow, cancel and repeat runs, through the kubeconfig",
	}
	cmd.AddCommand(newRunsList(), newRunsShow(), newRunsLogs(), newRunsCancel(), newRunsRerun())
	return cmd
}

func withRuns(k *kube, run func(cmd *cobra.Command, runs *cli.Runs, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cluster, console, err := k.connect(cmd)
		if err != nil {
			return err
		}
		return run(cmd, &cli.Runs{Cluster: cluster, Console: console, Now: time.Now}, args)
	}
}

func newRunsList() *cobra.Command {
	var (
		k kube
		f cli.Filter
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List runs, the newest first",
		Example: "  postflight runs list -n acme --branch main --state Failed",
		Args:    cobra.NoArgs,
		RunE:    withRuns(&k, func(cmd *cobra.Command, runs *cli.Runs, _ []string) error { return runs.List(cmd.Context(), f) }),
	}
	cmd.Flags().BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "of all teams")
	cmd.Flags().StringVar(&f.Trigger, "trigger", "", "only those of the Trigger")
	cmd.Flags().StringVar(&f.Branch, "branch", "", "only those of the branch")
	cmd.Flags().StringVar(&f.State, "state", "", "only those in the state, e.g. Running or Failed")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "how many; 0 for all")
	k.addFlags(cmd)
	return cmd
}

func newRunsShow() *cobra.Command {
	var k kube
	cmd := &cobra.Command{
		Use:     "show RUN",
		Short:   "Show all there is to know of a run, and why it ended as it did",
		Example: "  postflight runs show smoke-3f9c2k7q5x0a1b2c -n acme",
		Args:    cobra.ExactArgs(1),
		RunE: withRuns(&k, func(cmd *cobra.Command, runs *cli.Runs, args []string) error {
			return runs.Show(cmd.Context(), args[0])
		}),
	}
	k.addFlags(cmd)
	return cmd
}

func newRunsLogs() *cobra.Command {
	var (
		k kube
		l cli.Logs
	)
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print what the tests print",
		Long: `Prints what the containers of the run print. Where none has started, because a step before them runs
or failed, it prints the log of that, such as the download of the input files, and says so.`,
		Example: `  postflight runs logs -f smoke-3f9c2k7q5x0a1b2c -n acme

  # The download of the input files
  postflight runs logs smoke-3f9c2k7q5x0a1b2c -n acme -c postflight-fetch`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if k.format != "" {
				return errors.New("runs logs prints what the tests print, which is no JSON: leave out -o")
			}
			return nil
		},
		RunE: withRuns(&k, func(cmd *cobra.Command, runs *cli.Runs, args []string) error {
			return runs.Logs(cmd.Context(), args[0], l)
		}),
	}
	cmd.Flags().BoolVarP(&l.Follow, "follow", "f", false, "wait for the run to start, and print until it ends")
	cmd.Flags().StringVarP(&l.Container, "container", "c", "", "only this container of the pod, which may be an init container")
	k.addFlags(cmd)
	_ = cmd.Flags().MarkHidden("output") // which is there to be refused
	return cmd
}

func newRunsCancel() *cobra.Command {
	var k kube
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "Stop a run; it says who did",
		Example: "  postflight runs cancel smoke-3f9c2k7q5x0a1b2c -n acme",
		Args:    cobra.ExactArgs(1),
		RunE: withRuns(&k, func(cmd *cobra.Command, runs *cli.Runs, args []string) error {
			return runs.Cancel(cmd.Context(), args[0])
		}),
	}
	k.addFlags(cmd)
	return cmd
}

func newRunsRerun() *cobra.Command {
	var k kube
	cmd := &cobra.Command{
		Use:     "rerun RUN",
		Short:   "Start another attempt of a run, and print its id",
		Example: `  postflight wait "$(postflight runs rerun smoke-3f9c2k7q5x0a1b2c -n acme)"`,
		Args:    cobra.ExactArgs(1),
		RunE: withRuns(&k, func(cmd *cobra.Command, runs *cli.Runs, args []string) error {
			return runs.Rerun(cmd.Context(), args[0])
		}),
	}
	k.addFlags(cmd)
	return cmd
}

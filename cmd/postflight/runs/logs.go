package runs

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
)

type LogsOptions struct {
	Options
	client.LogOptions
}

func newLogs() *cobra.Command {
	o := &LogsOptions{}
	tail := 0
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print what the tests printed",
		Long: `Prints what the containers of the tests printed. If there are several, a line "==> pod/container <==" precedes each
log. If no test has started, the kubeconfig shows the log of the step that failed or runs before them, such as the
download of the input files.

A terminal shows colors, but nothing else that a log could do to it, such as moving the cursor. A file or a pipe gets
the log unchanged.

` + twoWays + `
The server also has the logs of runs whose pods are gone.`,
		Example: `  # Follow a run until it ends
  postflight runs logs -f smoke-3f9c2k7q5x0a1b2c

  # The last lines of one container, of the cluster of the kubeconfig
  postflight runs logs smoke-3f9c2k7q5x0a1b2c -n acme -c browser --tail 100

  # The download of the input files
  postflight runs logs smoke-3f9c2k7q5x0a1b2c -c postflight-fetch

  # What a container printed before Kubernetes restarted it
  postflight runs logs smoke-3f9c2k7q5x0a1b2c -c test --previous`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if o.Format != "" {
				return errors.New("runs logs prints the output of the tests, not JSON: leave out -o")
			}
			if cmd.Flags().Changed("tail") {
				o.Tail = &tail
			}
			if tail < 0 {
				return errors.New("--tail is a number of lines, from 0")
			}
			return nil
		},
	}
	cmd.RunE = o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "wait for the run to start, and print until it ends")
	cmd.Flags().StringVarP(&o.Container, "container", "c", "", "only this container, which may be an init container or a sidecar")
	cmd.Flags().StringVar(&o.Pod, "pod", "", "only this pod")
	cmd.Flags().BoolVarP(&o.Previous, "previous", "p", false, "the log from before Kubernetes restarted the container")
	cmd.Flags().IntVar(&tail, "tail", 0, "only so many lines at the end of each log; default: all")
	o.addFlags(cmd)
	_ = cmd.Flags().MarkHidden("output") // it exists to be refused
	return cmd
}

func (o *LogsOptions) Run(ctx context.Context, id string) error {
	return o.Console.Untrusted(func(to io.Writer) error { return o.Source.copyLogs(ctx, id, o.LogOptions, to) })
}

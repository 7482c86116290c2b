// Package access reaches what commands talk to: the server of $POSTFLIGHT_URL, or the cluster of the kubeconfig.
package access

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// Way is the server or the cluster: a flag that belongs to one of them decides, or else the environment.
type Way struct {
	Server  Server
	Cluster Cluster
}

func (w *Way) AddOwnFlags(cmd *cobra.Command) {
	w.Cluster.addOwnFlags(cmd)
	w.Server.AddOwnFlags(cmd)
}

// Command returns the RunE of a command that talks to the server or to the cluster. choose is told which.
func (w *Way) Command(
	o *cli.Output, choose func(byServer bool), run func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := o.Open(cmd); err != nil {
			return err
		}
		byServer, err := w.connect(cmd, *o)
		if err != nil {
			return err
		}
		choose(byServer)
		return run(cmd.Context(), args)
	}
}

// connect reports whether the server is the way.
func (w *Way) connect(cmd *cobra.Command, output cli.Output) (byServer bool, err error) {
	named, byCluster := cli.AnyChanged(cmd, "url"), cli.AnyChanged(cmd, "namespace", "context", "kubeconfig", "all-namespaces")
	if named && byCluster {
		return false, cli.Exitf(cli.ExitTrouble, "--url asks the server, and -n, -A, --context and --kubeconfig ask the cluster: use one of them")
	}
	w.Server.Output, w.Cluster.Output = output, output
	if named || !byCluster && os.Getenv("POSTFLIGHT_URL") != "" {
		err := w.Server.Connect()
		if err != nil && !named {
			err = fmt.Errorf("%w. To ask the cluster of the kubeconfig instead, add -n NAMESPACE", err)
		}
		return true, err
	}
	err = w.Cluster.Connect()
	if errors.Is(err, errNoKubeconfig) {
		err = fmt.Errorf("%w, or POSTFLIGHT_URL and POSTFLIGHT_API_KEY to ask the server", err)
	}
	return false, err
}

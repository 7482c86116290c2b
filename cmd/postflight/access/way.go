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

// TwoWays is the help about a Way.
const TwoWays = `With $POSTFLIGHT_URL or --url, it asks the server, with what "postflight whoami --help" says. Otherwise, and with
-n, -A, --context or --kubeconfig, it asks the cluster of the kubeconfig. If there is none, -n asks the server, too.`

// AskHub completes a sentence about what is in another cluster, which a kubeconfig does not reach.
const AskHub = "to ask there, set POSTFLIGHT_URL and POSTFLIGHT_API_KEY of the team, and leave out -n, -A, --context and --kubeconfig"

// Way is the server or the cluster: a flag that belongs to one of them decides, or else the environment.
type Way struct {
	Server  Server
	Cluster Cluster
}

func (w *Way) AddOwnFlags(cmd *cobra.Command) {
	w.Cluster.addOwnFlags(cmd)
	w.Server.AddOwnFlags(cmd)
}

// serverNamed reports whether the team of $POSTFLIGHT_URL and its credential is meant: no flag names a place in a cluster.
func serverNamed(cmd *cobra.Command) bool {
	return os.Getenv("POSTFLIGHT_URL") != "" && !cli.AnyChanged(cmd, "namespace", "context", "kubeconfig", "all-namespaces")
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
	named := cli.AnyChanged(cmd, "url")
	if named && cli.AnyChanged(cmd, "namespace", "context", "kubeconfig", "all-namespaces") {
		return false, cli.Exitf(cli.ExitTrouble, "--url asks the server, and -n, -A, --context and --kubeconfig ask the cluster: use one of them")
	}
	w.Server.Output, w.Cluster.Output = output, output
	if named || serverNamed(cmd) {
		err := w.Server.Connect()
		if err != nil && !named {
			err = fmt.Errorf("%w. To ask the cluster of the kubeconfig instead, add -n NAMESPACE", err)
		}
		return true, err
	}
	err = w.Cluster.Connect()
	onlyNamespace := !cli.AnyChanged(cmd, "context", "kubeconfig", "all-namespaces")
	switch {
	case os.Getenv("POSTFLIGHT_URL") == "" && errors.Is(err, errNoKubeconfig):
		return false, fmt.Errorf("%w, or POSTFLIGHT_URL and POSTFLIGHT_API_KEY to ask the server", err)
	case onlyNamespace && errors.Is(err, errNoKubeconfig):
		return true, w.connectTo(cmd.Context(), w.Cluster.Namespace)
	case onlyNamespace && os.Getenv("POSTFLIGHT_URL") != "":
		w.Cluster.elsewhere = ". To ask the server of $POSTFLIGHT_URL, leave out -n"
	}
	return false, err
}

// connectTo connects to the server, if its team has the namespace: a command with -n that was copied also works without a kubeconfig.
func (w *Way) connectTo(ctx context.Context, namespace string) error {
	who, err := w.Server.whoAmI(ctx)
	if err == nil && who.Namespace != namespace {
		return fmt.Errorf("-n %s: there is no kubeconfig, and the server of $POSTFLIGHT_URL knows you as a sender of the team %s, which has the "+
			"namespace %s. Set KUBECONFIG, or send a key of the other team", namespace, who.Team, who.Namespace)
	}
	return err
}

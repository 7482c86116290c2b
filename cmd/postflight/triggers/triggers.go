// Package triggers has the commands about Triggers.
package triggers

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "triggers",
		Short: "Show Triggers with what they inherit, through the kubeconfig",
	}, newShow())
}

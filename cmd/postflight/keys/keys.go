// Package keys has the commands about API keys.
package keys

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "keys",
		Short: "Create, list, rotate and revoke the API keys of a team, through the kubeconfig",
	}, newCreate(), newList(), newRotate(), newRevoke())
}

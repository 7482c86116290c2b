// Package quarantine has the commands about Quarantines.
package quarantine

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "quarantine",
		Aliases: []string{"quarantines"},
		Short:   "Suggest Quarantines for tests that come and go",
		Long:    `Suggests which tests to quarantine. It changes nothing in the cluster.`,
		Example: `  postflight quarantine suggest --environment staging > quarantines.yaml`,
	}, newSuggest())
}

package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

func newExplain() *cobra.Command {
	var (
		conn connection
		d    cli.Deployment
	)
	cmd := gates(&cobra.Command{
		Use:   "explain",
		Short: "Say which Triggers would start a run for a deployment, and why the others would not",
		Long: `Asks the server what "postflight notify" with the same flags would do, without doing it, and shows
each condition of each Trigger.

` + detection,
		Example: `  # Why did my Trigger not fire?
  postflight explain --branch feature/login --type preview`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, console, err := conn.connect(cmd)
			if err != nil {
				return err
			}
			e := &cli.Explain{Connection: c, Console: console, Deployment: d.OrVariables(os.Getenv), Detected: cli.DetectCI(os.Getenv)}
			return e.Run(cmd.Context())
		},
	})
	addDeploymentFlags(cmd, &d)
	conn.addFlags(cmd)
	return cmd
}

package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

// waiting are the flags of commands that wait.
type waiting struct {
	follow  bool
	timeout time.Duration
}

func (w *waiting) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.follow, "follow", false, "where a run is superseded, take the outcome of the newer deployment: 0 then says nothing of this commit, so never promote it on that")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 2*time.Hour, "how long to wait for all runs")
}

func newNotify() *cobra.Command {
	var (
		conn     connection
		d        cli.Deployment
		wait     waiting
		andWait  bool
		allowNon bool
	)
	cmd := gates(&cobra.Command{
		Use:   "notify",
		Short: "Report a deployment, which starts the runs that Triggers ask for",
		Long: `Reports a deployment. Every Trigger that asks for it starts a run; a commit whose run goes on or has a
result starts none again. With --wait, the command ends when the runs have, and its exit code gates the pipeline.

` + detection + `

` + exitCodes + `
Without --wait, 0 means that every run was started.`,
		Example: `  # In CI: report what was deployed, and stop the pipeline unless the runs pass
  postflight notify --type staging --deployment-url https://staging.example.com --wait

  # From a shell, with a variable for the tests
  postflight notify --branch main --sha "$(git rev-parse HEAD)" -v REGION=eu

  # The ids of the runs, for a script
  postflight notify --type staging -o json | jq -r '.results[].created_suite_id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, console, err := conn.connect(cmd)
			if err != nil {
				return err
			}
			n := &cli.Notify{Connection: c, Console: console, Deployment: d.OrVariables(os.Getenv), Detected: cli.DetectCI(os.Getenv), AllowNoMatch: allowNon}
			if andWait {
				n.Wait = &cli.Wait{Greenlighter: c, Console: console, Follow: wait.follow, Timeout: wait.timeout}
			}
			return n.Run(cmd.Context())
		},
	})
	addDeploymentFlags(cmd, &d)
	cmd.Flags().BoolVarP(&andWait, "wait", "w", false, "wait for the runs to end")
	cmd.Flags().BoolVar(&allowNon, "allow-no-match", false, "it is fine if no Trigger asks for the deployment")
	wait.addFlags(cmd)
	conn.addFlags(cmd)
	return cmd
}

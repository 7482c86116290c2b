package main

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

func newWait() *cobra.Command {
	var (
		conn connection
		wait waiting
	)
	cmd := gates(&cobra.Command{
		Use:   "wait RUN...",
		Short: "Wait for runs to end, and exit as they did",
		Long: `Waits for runs, all at once, and says how they ended. On a terminal it shows them while they run;
in a log it prints a line for each change.

` + exitCodes,
		Example: `  postflight wait smoke-3f9c2k7q5x0a1b2c

  # A newer deployment may replace the run: wait for that one instead of ending with 2
  postflight wait --follow smoke-3f9c2k7q5x0a1b2c`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, runs []string) error {
			c, console, err := conn.connect(cmd)
			if err != nil {
				return err
			}
			w := &cli.Wait{Greenlighter: c, Console: console, Follow: wait.follow, Timeout: wait.timeout}
			return w.Runs(cmd.Context(), runs)
		},
	})
	wait.addFlags(cmd)
	conn.addFlags(cmd)
	return cmd
}

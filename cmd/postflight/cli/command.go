package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// FrameInterval looks smooth.
const FrameInterval = 100 * time.Millisecond

// Group returns a command that only has other commands.
func Group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(commands...)
	return cmd
}

func ShortSHA(sha string) string { return sha[:min(len(sha), 12)] }

func AnyChanged(cmd *cobra.Command, flags ...string) bool {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) {
			return true
		}
	}
	return false
}

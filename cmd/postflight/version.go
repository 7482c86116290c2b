package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker: -ldflags "-X main.release=v1.2.3".
var release string

// version is the release, or else what Go knows of the source it was built from.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func newVersion() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			console, err := o.console(cmd)
			if err != nil {
				return err
			}
			if console.JSON {
				return console.WriteJSON(map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "postflight %s %s/%s\n", version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	o.addFlags(cmd)
	return cmd
}

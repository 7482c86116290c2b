package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker: -ldflags "-X main.release=v1.2.3".
var release string

// version is the release, or else the version that Go recorded in the binary.
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
			if err := o.open(cmd); err != nil {
				return err
			}
			platform := runtime.GOOS + "/" + runtime.GOARCH
			return o.console.result(map[string]string{"version": version(), "go": runtime.Version(), "platform": platform}, func() error {
				_, err := fmt.Fprintf(o.console.out, "postflight %s %s\n", version(), platform)
				return err
			})
		},
	}
	o.addFlags(cmd)
	return cmd
}

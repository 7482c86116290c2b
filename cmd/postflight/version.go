package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/text/version"
)

func newVersion() *cobra.Command {
	var o cli.Output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Open(cmd); err != nil {
				return err
			}
			build := version.Get()
			return o.Console.Result(build, func() error {
				_, err := fmt.Fprintf(o.Console.Out, "postflight %s\n", build)
				return err
			})
		},
	}
	o.AddFlags(cmd)
	return cmd
}

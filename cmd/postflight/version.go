package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/core/version"
)

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
			build := version.Get()
			return o.console.result(build, func() error {
				_, err := fmt.Fprintf(o.console.out, "postflight %s\n", build)
				return err
			})
		},
	}
	o.addFlags(cmd)
	return cmd
}

// Command dev runs a development cluster: a real Kubernetes control plane, a real node that runs
// pods, an S3-compatible object store and Postflight's manager, all below one folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/hack/dev/internal/build"
	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "dev",
		Short:         "Run a Kubernetes cluster for development below one folder",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(assetsCommand())
	return root
}

func assetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Only build the control plane and the object store into bin/",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := layout.New(os.TempDir())
			if err != nil {
				return err
			}
			return build.Builder{Layout: l, Console: console.New(os.Stdout)}.Assets(cmd.Context())
		},
	}
}

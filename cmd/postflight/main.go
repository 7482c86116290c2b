// Command postflight talks to Postflight from CI and from a shell. Named kubectl-postflight it is a plugin of
// kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	// The image holds nothing but the binaries. Where a system has no certificates of public authorities,
	// those of Mozilla's list are used, as of the version of this module.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first interrupt ends the command in good order, the second at once
	os.Exit(cli.Execute(ctx, newRoot(), os.Args[1:]))
}

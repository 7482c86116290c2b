// Command postflight talks to Postflight from CI and from a shell, and fetches a run's input files
// in its pod. Named kubectl-postflight it is a plugin of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// Command postflight talks to Postflight from CI and from a shell. Named kubectl-postflight it is a plugin of
// kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first interrupt ends the command in good order, the second at once
	code := execute(ctx, os.Args[1:])
	os.Exit(code)
}

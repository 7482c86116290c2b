package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot has every command; each is in a file of its own.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           programName(),
		Short:         "Postflight: run tests after a deployment",
		SilenceUsage:  true,
		SilenceErrors: true, // execute prints them
	}
	root.AddCommand(newFetch())
	return root
}

// programName is what a person typed: kubectl calls its plugins by another name.
func programName() string {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		return "kubectl postflight"
	}
	return "postflight"
}

// exitError is an error with an exit code of its own; any other error is 1.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// execute runs a command and returns the exit code.
func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", err)
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return 1
}

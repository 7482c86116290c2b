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
		Use:   "postflight",
		Short: "Postflight: run tests after a deployment",
		Long: `Tells Postflight what was deployed, waits for the runs that follow, and looks at them.

notify, wait, upload and explain talk to the server of $POSTFLIGHT_URL with the key of
$POSTFLIGHT_API_KEY, or of the file $POSTFLIGHT_API_KEY_FILE, as CI does. keys and runs talk to the cluster of the kubeconfig, as kubectl does;
named kubectl-postflight, the program is a plugin of kubectl.`,
		Example: `  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight notify --branch main --type staging --wait`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: programName()},
		SilenceUsage:  true,
		SilenceErrors: true, // execute prints them
	}
	root.AddCommand(newNotify(), newWait(), newExplain(), newUpload(), newKeys(), newRuns(), newVersion(), newFetch())
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

// ExitCode is what the process ends with.
func (e *exitError) ExitCode() int { return e.code }

// execute runs a command and returns the exit code.
func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", err)
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 1
}

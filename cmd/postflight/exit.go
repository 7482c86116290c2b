package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
)

// The exit codes of commands that gate a pipeline. A typing error is trouble and not a failed run.
const (
	exitPassed    = 0
	exitFailed    = 1 // a run ended without passing
	exitCanceled  = 2 // a run was canceled or superseded: nothing is known of the deployment
	exitTrouble   = 3 // there is no result: no run, no server, no key, no time left
	exitDifferent = 4 // a run tests another deployment of the commit
)

const exitCodes = `Exit codes: 0 every run passed, 1 a run did not pass, 2 a run was canceled or superseded,
3 trouble: no run, no server, no key, no time left, 4 a run tests another deployment of the commit.`

// exitError is an error with the code that the process exits with.
type exitError struct {
	code int
	error
}

func (e *exitError) Unwrap() error { return e.error }

// withExitCode gives the error the code, unless it has one.
func withExitCode(code int, err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &exitError{code, err}
}

func exitTroubleError(err error) error { return withExitCode(exitTrouble, err) }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// withTroubleExit is for commands whose exit code gates a pipeline: any error without a code is trouble, and
// never looks like a failed run.
func withTroubleExit(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return exitTroubleError(run(cmd, args)) }
	return cmd
}

// interrupted replaces an error that an interrupt caused. It keeps the exit code.
func interrupted(ctx context.Context, err error, hint string) error {
	caused := errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))
	if !errors.Is(ctx.Err(), context.Canceled) || !caused {
		return err
	}
	replaced := errors.New("interrupted" + hint)
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return &exitError{exit.code, replaced}
	}
	return replaced
}

// failureCode is the stable word of an error of the server; "" if there is none.
func failureCode(err error) string {
	var failed *client.Error
	if errors.As(err, &failed) && failed.Problem != nil {
		return failed.Problem.FailureCode
	}
	return ""
}

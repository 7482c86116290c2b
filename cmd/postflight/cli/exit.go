package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
)

// The exit codes of commands that gate a pipeline. A typing error is trouble and not a failed run.
const (
	ExitPassed    = 0
	ExitFailed    = 1 // a run ended without passing
	ExitCanceled  = 2 // a run was canceled or superseded: nothing is known of the deployment
	ExitTrouble   = 3 // there is no result: no run, no server, no key, no time left
	ExitDifferent = 4 // a run tests another deployment of the commit
)

const ExitCodes = `Exit codes: 0 every run passed, 1 a run did not pass, 2 a run was canceled, superseded or Inconclusive,
3 trouble: no run, no server, no key, no time left, 4 a run tests another deployment of the commit.`

// ExitError is an error with the code that the process exits with.
type ExitError struct {
	Code int
	error
}

func (e *ExitError) Unwrap() error { return e.error }

// withExitCode gives the error the code, unless it has one.
func withExitCode(code int, err error) error {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &ExitError{code, err}
}

func ExitTroubleError(err error) error { return withExitCode(ExitTrouble, err) }

func Exitf(code int, format string, args ...any) error {
	return &ExitError{code, fmt.Errorf(format, args...)}
}

// WithTroubleExit is for commands whose exit code gates a pipeline: any error without a code is trouble, and
// never looks like a failed run.
func WithTroubleExit(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return ExitTroubleError(run(cmd, args)) }
	return cmd
}

// Interrupted replaces an error that an interrupt caused. It keeps the exit code.
func Interrupted(ctx context.Context, err error, hint string) error {
	caused := errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))
	if !errors.Is(ctx.Err(), context.Canceled) || !caused {
		return err
	}
	replaced := errors.New("interrupted" + hint)
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		return &ExitError{exit.Code, replaced}
	}
	return replaced
}

// FailureCode is the stable word of an error of the server; "" if there is none.
func FailureCode(err error) string {
	var failed *client.Error
	if errors.As(err, &failed) && failed.Problem != nil {
		return failed.Problem.FailureCode
	}
	return ""
}

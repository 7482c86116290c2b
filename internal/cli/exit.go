package cli

import (
	"context"
	"errors"
	"fmt"
)

// The exit codes of commands that gate a pipeline. A typing error is trouble and not a failed run.
const (
	ExitPassed   = 0
	ExitFailed   = 1 // a run ended without passing
	ExitCanceled = 2 // a run was canceled or superseded: nothing is known of the deployment
	ExitTrouble  = 3 // there is no outcome: no run, no server, no key, no time left
)

// Exit is an error with the code that the process ends with.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string { return e.Err.Error() }
func (e *Exit) Unwrap() error { return e.Err }

// Trouble makes the process end with ExitTrouble, unless the error has a code.
func Trouble(err error) error { return Ending(ExitTrouble, err) }

// Ending gives the error the code, unless it has one.
func Ending(code int, err error) error {
	var exit *Exit
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &Exit{code, err}
}

// Interrupted says so of an error that came of it: what was going on then failed for no other reason. It
// keeps the code.
func Interrupted(ctx context.Context, err error, hint string) error {
	cameOfIt := errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))
	if !errors.Is(ctx.Err(), context.Canceled) || !cameOfIt {
		return err
	}
	interrupted := errors.New("interrupted" + hint)
	if exit := (*Exit)(nil); errors.As(err, &exit) {
		return &Exit{exit.Code, interrupted}
	}
	return interrupted
}

func exitf(code int, format string, args ...any) error {
	return &Exit{code, fmt.Errorf(format, args...)}
}

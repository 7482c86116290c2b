package fetch

import (
	"errors"
	"fmt"
)

// Kind says what to do about an Error. It is also the exit code.
type Kind int

// The kinds.
const (
	Local       Kind = 1 // the file cannot be written
	BadList     Kind = 2 // the list of files is invalid
	Missing     Kind = 3 // the store does not have the file
	Changed     Kind = 4 // the file differs from the file that was there when the run started
	Unavailable Kind = 5 // the store did not send the file, in spite of retries
)

// Error is why a file could not be fetched, in a sentence without secrets.
type Error struct {
	Kind Kind
	Path string
	Text string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Text
	}
	return fmt.Sprintf("%q %s", e.Path, e.Text)
}

// KindOf returns the kind of an error: Local unless it is an Error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Local
}

// retryable is an error that another attempt may avoid. Its text continues "the store".
type retryable string

func (e retryable) Error() string { return string(e) }

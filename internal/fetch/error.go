package fetch

import (
	"errors"
	"fmt"
)

// Kind of an Error; it is also the exit code.
type Kind int

// The kinds.
const (
	Local       Kind = 1 // the directory cannot take the file
	BadList     Kind = 2 // the list of files is not valid
	Missing     Kind = 3 // the store has no such file
	Changed     Kind = 4 // the file changed after the run had started
	Unavailable Kind = 5 // the store did not serve the file, in spite of retries
)

// Error says why a file is missing, in a sentence without secrets.
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

// KindOf an error; Local for any that is not an Error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Local
}

// retryableError is a failure of the store that may pass. Its text follows "the store".
type retryableError struct{ text string }

func (e *retryableError) Error() string { return "the store " + e.text }

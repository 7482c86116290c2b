package fetch

import (
	"errors"
	"fmt"
)

// Kind says what to do about an Error; it is also the exit code.
type Kind int

// The kinds.
const (
	Local       Kind = 1 // the directory cannot take the file
	BadList     Kind = 2 // the list of files is not valid
	Missing     Kind = 3 // the store has no such file
	Changed     Kind = 4 // it has another than when the run started
	Unavailable Kind = 5 // it did not give the file, in spite of retries
)

// Error is why a file is not there, in a sentence without secrets.
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

// again is an error that may pass.
type again struct{ text string }

func (e *again) Error() string { return e.text }

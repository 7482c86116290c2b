package archive_test

import (
	"errors"
)

var errClosed = errors.New("it refuses connections")

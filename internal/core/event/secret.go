package event

import (
	"bytes"
	"fmt"
)

const (
	minSecret = 16   // bytes: anybody who has seen one signed event can try secrets, and 128 bits cannot be tried
	maxSecret = 1024 // bytes, far more than any service lets people enter
)

// Secret returns a secret without the line end that editors and shells add to files.
func Secret(value []byte) []byte { return bytes.TrimRight(value, "\r\n") }

// SecretProblem returns why a secret cannot be used, as a clause without the secret, or "".
func SecretProblem(secret []byte) string {
	switch {
	case len(secret) == 0:
		return "is missing or empty"
	case len(secret) < minSecret:
		return fmt.Sprintf("has %d bytes; it needs at least %d, which nobody can guess", len(secret), minSecret)
	case len(secret) > maxSecret:
		return fmt.Sprintf("has more than %d bytes", maxSecret)
	default:
		return ""
	}
}

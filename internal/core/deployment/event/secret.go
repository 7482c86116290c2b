package event

import (
	"fmt"
	"strings"
)

const (
	minSecret  = 16   // bytes: anybody who has seen one signed event can try secrets, and 128 bits cannot be tried
	maxSecret  = 1024 // bytes, far more than any sender lets people enter
	maxSecrets = 4    // the new one, and those that it replaces, as for the webhooks of a Team
)

// Secrets returns the lines of a secret without spaces around them: while the secret is replaced, it has a new and an old line. Each must
// be a valid secret by itself. The problem is why the secret cannot be used, as a clause without the secret, or "".
func Secrets(secret []byte) (all []string, problem string) {
	for line := range strings.Lines(string(secret)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return nil, "is missing or empty"
	}
	if len(all) > maxSecrets {
		return nil, fmt.Sprintf("has %d lines; it may have %d, each of which signs", len(all), maxSecrets)
	}
	for i, line := range all {
		where := ""
		if len(all) > 1 {
			where = fmt.Sprintf(" in its line %d", i+1)
		}
		switch {
		case len(line) < minSecret:
			return nil, fmt.Sprintf("has %d bytes%s; it needs at least %d, which nobody can guess", len(line), where, minSecret)
		case len(line) > maxSecret:
			return nil, fmt.Sprintf("has more than %d bytes%s", maxSecret, where)
		}
	}
	return all, ""
}

// SecretProblem returns why a secret cannot be used, as a clause without the secret, or "".
func SecretProblem(secret []byte) string {
	_, problem := Secrets(secret)
	return problem
}

package event

import "strings"

const maxSecrets = 4 // the new one, and those that it replaces, as for the webhooks of a Team

// Secrets returns the lines of a secret without spaces around them: while it is replaced, it has the new one and the old one. Each must be
// one that could stand alone.
func Secrets(secret []byte) ([]string, error) {
	var all []string
	for line := range strings.Lines(string(secret)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if problem := SecretProblem([]byte(line)); problem != "" {
			return nil, &VerifyError{Reason: "a line of the secret " + problem}
		}
		all = append(all, line)
	}
	if len(all) == 0 || len(all) > maxSecrets {
		return nil, &VerifyError{Reason: "the secret does not have 1 to 4 lines"}
	}
	return all, nil
}

package outcome

import "github.com/postflight-dev/postflight/internal/core/text/plaintext"

// In bytes. A condition is shown in tables, in checks and in lists of thousands of Suites; the whole text is in the log.
const (
	maxQuote   = 1024 // from a container or Kubernetes
	maxSummary = 256  // from a run that passed
	maxName    = 256  // a name that was not validated
)

func quoted(text, otherwise string) string {
	if text = plaintext.Line(text, maxQuote); text != "" {
		return ": " + text
	}
	return otherwise
}

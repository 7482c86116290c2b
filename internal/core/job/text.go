package job

import "github.com/postflight-dev/postflight/internal/core/plaintext"

// Bounds on text from others, in bytes. A condition is shown in tables, in checks and in lists of thousands of
// Suites; the whole text is in the log.
const (
	maxQuote   = 1024 // from a container or Kubernetes
	maxSummary = 256  // from a run that passed
	maxName    = 256  // a name that was not validated
)

// quoted is the end of a sentence: a colon and a text, or something else if the text is empty.
func quoted(text, otherwise string) string {
	if text = plaintext.Line(text, maxQuote); text != "" {
		return ": " + text
	}
	return otherwise
}

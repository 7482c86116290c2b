package job

import "github.com/postflight-dev/postflight/internal/plaintext"

// Bounds on text that others wrote, in bytes. A condition is read in a table, in a check and in a
// list of thousands of Suites; the whole text is in the log.
const (
	maxQuote   = 1024 // what a container or Kubernetes said
	maxSummary = 256  // what a run that passed said
	maxName    = 256  // a name that nobody checked
)

// quoted is the end of a sentence: a colon and a text, or something else if the text is empty.
func quoted(text, otherwise string) string {
	if text = plaintext.Line(text, maxQuote); text != "" {
		return ": " + text
	}
	return otherwise
}

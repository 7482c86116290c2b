package job

import (
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/plaintext"
)

// Bounds on text that others wrote, in bytes. A condition is read in a table, in a check and in a
// list of thousands of Suites; the whole text is in the log.
const (
	maxQuote   = 1024 // what a container or Kubernetes said
	maxSummary = 256  // what a run that passed said
	maxName    = 256  // a name that nobody checked
)

// quoted ends a sentence with what somebody said, or with something else if that is nothing.
func quoted(text, otherwise string) string {
	if text = plaintext.Line(text, maxQuote); text != "" {
		return ": " + text
	}
	return otherwise
}

// duration as people write it: 90s is 1m30s, 1800s is 30m.
func duration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

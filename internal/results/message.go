package results

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

// Message is the termination message of the collector: a line with the counts, and one per failure, so that a cut
// loses the last failures only.
func Message(s Summary) string {
	s = clean(s)
	text := line(s)
	shown := s.Failures[:min(len(s.Failures), maxStatusFailures)]
	for i, f := range shown {
		share := (messageBytes - len(text)) / (len(shown) - i)
		next := line(shorten(f, share))
		if len(text)+len(next) > messageBytes {
			break
		}
		text += next
	}
	return text
}

// shorten cuts the message of a failure until its line has at most so many bytes, if that is enough. A name is never
// cut: the leader compares names.
func shorten(f v1alpha1.TestFailure, size int) v1alpha1.TestFailure {
	for len(line(f)) > size && len(f.Message) > leastMessage {
		f.Message = plaintext.Line(f.Message, len(f.Message)*9/10) // escaping makes the exact number hard to know
	}
	return f
}

// line encodes what cannot fail: strings and numbers.
func line(value any) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(value)
	return b.String()
}

// ParseMessage reads a termination message, and reports whether it is one of Message.
func ParseMessage(text string) (Summary, bool) {
	first, rest, _ := strings.Cut(text, "\n")
	var s Summary
	if json.Unmarshal([]byte(first), &s) != nil {
		return Summary{}, false
	}
	for text := range strings.Lines(rest) {
		var f v1alpha1.TestFailure
		if json.Unmarshal([]byte(text), &f) != nil || len(s.Failures) == maxStatusFailures {
			break
		}
		s.Failures = append(s.Failures, f)
	}
	return clean(s), true
}

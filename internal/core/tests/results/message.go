package results

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Message has a line with the counts, one per failure, and lists of names, so that a cut loses the last only. Earlier versions of
// Postflight stop reading at the lists.
func Message(s Summary) string {
	s = clean(s)
	text := line(s)
	sets := setLines(s, messageBytes-len(text))
	shown := s.Failures[:min(len(s.Failures), maxStatusFailures)]
	for i, f := range shown {
		share := (messageBytes - len(text) - len(sets)) / (len(shown) - i)
		next := line(shorten(f, share))
		if len(text)+len(next)+len(sets) > messageBytes {
			break
		}
		text += next
	}
	for _, name := range s.FlakyTests[:min(len(s.FlakyTests), maxStatusFlaky)] {
		if next := line([]string{flakyList, name}); len(text)+len(next)+len(sets) <= messageBytes {
			text += next
		}
	}
	return text + sets
}

const flakyList, failedList, passedList, rerunList = "flaky", "failed", "passed", "repeated"

// setLines leaves named failures half of the room, because people read them.
func setLines(s Summary, room int) (text string) {
	if len(s.Failures) > 0 {
		room /= 2
	}
	for _, list := range [][]string{{rerunList, string(s.RerunPassed)}, {failedList, string(s.FailedTests)},
		{passedList, string(s.PassedTests)}} {
		if next := line(list); list[1] != "" && len(text)+len(next) <= room {
			text += next
		}
	}
	return text
}

// shorten cuts the message of a failure until its line fits, but never the name, which the leader compares.
func shorten(f v1alpha1.TestFailure, size int) v1alpha1.TestFailure {
	for len(line(f)) > size && len(f.Message) > leastMessage {
		f.Message = plaintext.Line(f.Message, len(f.Message)*9/10) // escaping makes the exact number hard to know
	}
	return f
}

func line(value any) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(value)
	return b.String()
}

// ParseMessage reads a termination message, and reports whether it has the format of Message.
func ParseMessage(text string) (Summary, bool) {
	first, rest, _ := strings.Cut(text, "\n")
	var s Summary
	var has struct{ Unread *int32 }
	if json.Unmarshal([]byte(first), &s) != nil || json.Unmarshal([]byte(first), &has) != nil {
		return Summary{}, false
	}
	s.Older = has.Unread == nil
	for text := range strings.Lines(rest) {
		var f v1alpha1.TestFailure
		var list []string
		switch {
		case json.Unmarshal([]byte(text), &list) == nil && len(list) == 2:
			s.addName(list[0], list[1])
		case json.Unmarshal([]byte(text), &f) == nil && len(s.Failures) < maxStatusFailures:
			s.Failures = append(s.Failures, f)
		default:
			return clean(s), true
		}
	}
	return clean(s), true
}

func (s *Summary) addName(list, name string) {
	switch list {
	case flakyList:
		s.FlakyTests = append(s.FlakyTests, name)
	case failedList:
		s.FailedTests = NameSet(name)
	case rerunList:
		s.RerunPassed = NameSet(name)
	case passedList:
		s.PassedTests = NameSet(name)
	}
}

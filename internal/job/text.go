package job

import (
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Bounds on text that others wrote, in bytes. A condition is read in a table, in a check and in a
// list of thousands of Suites; the whole text is in the log.
const (
	maxQuote   = 1024 // what a container or Kubernetes said
	maxSummary = 256  // what a run that passed said
	maxName    = 256  // a name that nobody checked
)

// terminalCodes are what a test runner colours its output with, and what could move the cursor or
// change the title of the terminal of whoever reads the message.
var terminalCodes = regexp.MustCompile(
	`(\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` + // CSI: colours, cursor
		`|(\x1b[\]PX^_]|[\x{9d}\x{90}\x{98}\x{9e}\x{9f}])[^\x07\x1b\n\x{9c}]*(\x07|\x1b\\|\x{9c})` + // OSC and other strings
		`|\x1b.`)

// clean makes text that anybody may have written fit for a sentence: valid UTF-8 on one line, without
// terminal codes and characters that cannot be seen, at most max bytes. Of a longer text the start and
// the end are kept, as the cause stands in either.
func clean(text string, max int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = terminalCodes.ReplaceAllString(text, "")
	var lines []string
	for line := range strings.FieldsFuncSeq(text, isLineEnd) {
		if line = visible(line); line != "" {
			lines = append(lines, line)
		}
	}
	return clip(strings.Join(lines, "; "), max)
}

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// visible keeps what can be seen, with single spaces. It drops the marks that turn the direction of
// writing, by which a text can look like another.
func visible(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		default:
			return -1
		}
	}, line)
	return strings.Join(strings.Fields(line), " ")
}

const gap = " … "

func clip(text string, max int) string {
	if len(text) <= max {
		return text
	}
	half := (max - len(gap)) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}

// quoted ends a sentence with what somebody said, or with something else if that is nothing.
func quoted(text, otherwise string) string {
	if text = clean(text, maxQuote); text != "" {
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

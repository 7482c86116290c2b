// Package plaintext makes text that other people or programs wrote safe to show: in a status, an event,
// a check, a table on a terminal.
package plaintext

import (
	"regexp"
	"strings"
	"unicode"
)

// terminalCodes are what a test runner colours its output with, and what could move the cursor or
// change the title of the terminal of whoever reads the message.
var terminalCodes = regexp.MustCompile(
	`(\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` + // CSI: colours, cursor
		`|(\x1b[\]PX^_]|[\x{9d}\x{90}\x{98}\x{9e}\x{9f}])[^\x07\x1b\n\x{9c}]*(\x07|\x1b\\|\x{9c})` + // OSC and other strings
		`|\x1b.`)

// Line makes text that anybody may have written fit for a sentence: valid UTF-8 on one line, without
// terminal codes and characters that cannot be seen, at most max bytes. Of a longer text the start and
// the end are kept, as the cause stands in either.
func Line(text string, max int) string {
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

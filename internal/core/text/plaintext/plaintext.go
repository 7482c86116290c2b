// Package plaintext makes text from other people or programs safe to show: in a status, an event, a check or a terminal.
package plaintext

import (
	"regexp"
	"strings"
	"unicode"
)

// terminalCodes color output, but can also move the cursor or change the title of the terminal.
var terminalCodes = regexp.MustCompile(
	`(\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` + // CSI: colors, cursor
		`|(\x1b[\]PX^_]|[\x{9d}\x{90}\x{98}\x{9e}\x{9f}])[^\x07\x1b\n\x{9c}]*(\x07|\x1b\\|\x{9c})` + // OSC and other strings
		`|\x1b.`)

// Line returns one line of valid UTF-8 without terminal codes and invisible characters, of at most max bytes. A longer text keeps its start
// and its end, because either may contain the cause.
func Line(text string, max int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if isLine(text) {
		return strings.Clone(clip(text, max)) // a part of a large text would keep all of it in memory
	}
	text = withoutTerminalCodes(text)
	var lines []string
	for line := range strings.FieldsFuncSeq(text, isLineEnd) {
		if line = visible(line); line != "" {
			lines = append(lines, line)
		}
	}
	return clip(strings.Join(lines, "; "), max)
}

// Block returns lines of valid UTF-8 without terminal codes and invisible characters, indented as they were. It keeps at most max bytes,
// from the start of the text; cut reports whether the rest is missing.
func Block(text string, max int) (block string, cut bool) {
	text = withoutTerminalCodes(strings.ToValidUTF8(text, "\uFFFD"))
	lines := strings.Split(strings.Map(inBlock, strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	text = strings.Trim(strings.Join(lines, "\n"), "\n")
	if len(text) <= max {
		return strings.Clone(text), false
	}
	return strings.ToValidUTF8(text[:max], ""), true
}

// isLine reports whether Line has nothing to change but the length. Nearly all names of tests are so, and a run may have 200,000 of them.
func isLine(text string) bool {
	space := true // at the start
	for _, r := range text {
		if !unicode.IsPrint(r) || r == ' ' && space {
			return false
		}
		space = r == ' '
	}
	return !space
}

// withoutTerminalCodes looks for the bytes with which all codes begin before it asks the expression, which is slow.
func withoutTerminalCodes(text string) string {
	if strings.IndexByte(text, '\x1b') < 0 && strings.IndexByte(text, '\xc2') < 0 { // the first byte of \x{80} to \x{bf} in UTF-8
		return text
	}
	return terminalCodes.ReplaceAllString(text, "")
}

func inBlock(r rune) rune {
	switch {
	case isLineEnd(r):
		return '\n'
	case r == '\t' || unicode.IsPrint(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	default:
		return -1
	}
}

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// visible drops marks that change the direction of writing, which could disguise a text.
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
	if half <= 0 {
		return strings.ToValidUTF8(text[:max], "") // no room for two ends
	}
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}

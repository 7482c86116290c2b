package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/postflight-dev/postflight/internal/plaintext"
)

// maxText bounds what a terminal shows of one text, in bytes: twice what is longest, a URL.
const maxText = 4096

// Clean takes away what could take over a terminal, or make a text look like another: names, branches
// and messages come from anywhere. Use it on each value that goes to a terminal.
func Clean(text string) string { return plaintext.Line(text, maxText) }

// cleaned are the arguments of a line for people, with all text among them clean.
func cleaned(args []any) []any {
	clean := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			clean[i] = Clean(arg)
		case error:
			clean[i] = Clean(arg.Error())
		default:
			clean[i] = arg
		}
	}
	return clean
}

// ErrorText is what to print of an error. That of a command may quote what anybody wrote, and is one
// line. One about the command line itself has lines of its own.
func ErrorText(err error) string {
	if exit := (*Exit)(nil); errors.As(err, &exit) {
		return Clean(err.Error())
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, "\t")
		lines[i] = line[:len(line)-len(text)] + Clean(text)
	}
	return strings.Join(lines, "\n")
}

// escapeControls writes the control characters that JSON allows in strings, but terminals obey, as
// escapes: the data stays the same.
func escapeControls(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

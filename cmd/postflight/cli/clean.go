package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxText bounds what a terminal shows of one text, in bytes: twice a URL, the longest of them.
const maxText = 4096

// Clean removes what could take over a terminal, or make a text look like another: names, branches and
// messages come from anywhere. Use it on each value that goes to a terminal.
func Clean(text string) string { return plaintext.Line(text, maxText) }

// cleanAll cleans all text among the arguments of a line for people.
func cleanAll(args []any) []any {
	cleaned := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			cleaned[i] = Clean(arg)
		case error:
			cleaned[i] = Clean(arg.Error())
		default:
			cleaned[i] = arg
		}
	}
	return cleaned
}

// ErrorText is what to print of an error. The error of a command may quote untrusted text, and is one line. An
// error about the command line may have several lines.
func ErrorText(err error) string {
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		return Clean(err.Error())
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, "\t")
		lines[i] = line[:len(line)-len(text)] + Clean(text)
	}
	return strings.Join(lines, "\n")
}

// escapeControls escapes control characters that JSON allows in strings but terminals obey: the data stays
// the same.
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

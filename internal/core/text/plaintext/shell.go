package plaintext

import (
	"regexp"
	"strings"
)

// plainWord is one word of every shell, and no option.
var plainWord = regexp.MustCompile(`^[0-9A-Za-z_./:@%+=,-]*$`)

// ShellQuote returns a text as one word of a shell, for commands that people paste.
func ShellQuote(text string) string {
	if text != "" && text[0] != '-' && plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

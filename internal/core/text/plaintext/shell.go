package plaintext

import "strings"

// ShellQuote returns a text as one word of a shell, for commands that people paste.
func ShellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

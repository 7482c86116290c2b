package main

import "strings"

// cell is a text as a cell of a table: on one line, with paragraphs that stay apart, and without markup of HTML.
func cell(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.ReplaceAll(prose(strings.Join(paragraphs, "<br>")), "|", `\|`)
}

// prose escapes what looks like HTML outside of code, except for line breaks.
func prose(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "<", "&lt;"), "&lt;br>", "<br>")
	}
	return strings.Join(parts, "`")
}

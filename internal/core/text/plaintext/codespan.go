package plaintext

import "strings"

// CodeSpan returns untrusted text as a Markdown code span of one line, or "". Its fence is longer than any run of backticks within.
func CodeSpan(text string, limit int) string {
	text = Line(text, limit)
	if text == "" {
		return ""
	}
	longest := longestRun(text)
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// CodeBlock returns untrusted lines as a fenced Markdown code block. Its fence is longer than any run of backticks within.
func CodeBlock(text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

func longestRun(text string) (longest int) {
	run := 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

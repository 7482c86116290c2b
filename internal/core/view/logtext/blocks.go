package logtext

import (
	"regexp"
	"strings"
)

// Line is a line of a log with its number, from 1.
type Line struct {
	Number int
	Spans  []Span
	Error  bool // it reads like a failure
}

// Block is a line, or a group of lines under a title.
type Block struct {
	Line
	Group  bool
	Lines  []Line // of the group
	Open   bool   // the group has not ended, or has an error
	Errors bool
}

var (
	// groupStart and groupEnd are the marks of GitHub and Buildkite, and of GitLab, for groups.
	groupStart = regexp.MustCompile(`^(?:::group::|##\[group\])(.*)|section_start:\d+:[\w.-]+(?:\[[^\]]*\])?[\r]?(?:\x1b\[0K)?(.*)`)
	groupEnd   = regexp.MustCompile(`^(?:::endgroup::|##\[endgroup\])|section_end:\d+:`)

	failureLine = regexp.MustCompile(
		`(?i)^\s*(?:error|fail(?:ed|ure)?|fatal|panic|exception|assertionerror|✗|✘|×)\b|^\s*(?:✗|✘|×|❌) |^##\[error\]|^::error`)
)

// Blocks returns lines of a log in their groups; the first line has the number first.
func Blocks(first int, lines [][]byte) []Block {
	var blocks []Block
	var group *Block
	for i, raw := range lines {
		line := LineOf(first+i, raw)
		title, starts := groupTitle(raw)
		switch {
		case starts:
			blocks = append(blocks, Block{Line: Line{Number: line.Number, Spans: Spans([]byte(title))}, Group: true, Open: true})
			group = &blocks[len(blocks)-1]
		case groupEnd.Match(raw):
			if group != nil {
				group.Open = group.Errors
			}
			group = nil
		case group != nil:
			group.Lines = append(group.Lines, line)
			group.Errors = group.Errors || line.Error
		default:
			blocks = append(blocks, Block{Line: line})
		}
	}
	return blocks
}

// LineOf returns a line without its group.
func LineOf(number int, raw []byte) Line {
	return Line{Number: number, Spans: Spans(raw), Error: failureLine.MatchString(PlainText(raw))}
}

// htmlBytes returns the size of the line as HTML, or a little more.
func (l Line) htmlBytes() int {
	const line, span, escaped = 150, 32, len("&#34;")
	n := line
	for _, s := range l.Spans {
		n += span + len(s.Class) + len(s.Text)
		for _, c := range []byte(s.Text) {
			if strings.IndexByte("\"'&<>+", c) >= 0 {
				n += escaped - 1
			}
		}
	}
	return n
}

func groupTitle(raw []byte) (string, bool) {
	m := groupStart.FindSubmatch(raw)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(string(m[1]) + string(m[2])), true
}

// maxSearch bounds what is searched for, in bytes: each hit shows it.
const maxSearch = 1024

// SearchText returns what to search for in a log.
func SearchText(query string) string {
	return strings.TrimSpace(strings.ToValidUTF8(query[:min(len(query), maxSearch)], ""))
}

// Mark divides a line around a found text; ok is false if the text is absent.
func Mark(line []byte, lower string) (before, match, after string, ok bool) {
	text := PlainText(line)
	i := strings.Index(strings.ToLower(text), lower)
	if i < 0 || i+len(lower) > len(text) {
		return "", "", "", false
	}
	const around = 200
	start, end := max(0, i-around), min(len(text), i+len(lower)+around)
	return strings.ToValidUTF8(text[start:i], ""), strings.ToValidUTF8(text[i:i+len(lower)], ""), strings.ToValidUTF8(text[i+len(lower):end],
		""), true
}

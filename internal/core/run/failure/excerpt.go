package failure

import (
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// The bounds of an excerpt: what a person reads first. A line has an eighth of what the page shows of it.
const (
	linesBefore, linesAfter = 10, 20
	maxLogLine              = 300 // bytes
	minSought               = 6   // bytes: shorter texts are anywhere
)

// Excerpt finds the lines around the first failure in a log, or else its last lines.
type Excerpt struct {
	sought []string
	recent []string // of the lines so far, the last ones
	number int      // of the last line
	rank   int      // of the text that was found: its index among those sought, or their number
	at     int      // the number of the line that has it
	lines  []string
	first  int
}

// NewExcerpt looks for the first line with one of the texts, which are messages and names of failed tests, the most telling first. A line
// with a more telling text counts instead of an earlier one: runners name a test long before it fails.
func NewExcerpt(texts ...string) *Excerpt {
	e := &Excerpt{}
	for _, text := range texts {
		if text = beginning(strings.TrimSpace(text)); len(text) >= minSought {
			e.sought = append(e.sought, text)
		}
	}
	e.rank = len(e.sought)
	return e
}

// beginning returns the part of a message that a line of the log can have: plaintext.Line joins lines, and cuts long ones in the middle.
func beginning(message string) string {
	for _, end := range []string{"; ", " … "} {
		if start, _, found := strings.Cut(message, end); found && len(start) >= minSought {
			message = start
		}
	}
	return message
}

// Add takes the next line, and reports whether it wants more.
func (e *Excerpt) Add(text []byte) bool {
	e.number++
	line, _ := plaintext.Block(string(text), 3*len(text)) // an invalid byte becomes three
	shown := strings.ToValidUTF8(line[:min(len(line), maxLogLine)], "")
	shown = strings.TrimRight(strings.ReplaceAll(shown, "\n", " "), " ")
	switch rank := e.rankOf(line); {
	case rank < e.rank:
		before := e.recent[max(0, len(e.recent)-linesBefore):]
		e.rank, e.at = rank, e.number
		e.lines, e.first = append(slices.Clone(before), shown), e.number-len(before)
	case e.Found() && e.number-e.at <= linesAfter:
		e.lines = append(e.lines, shown)
	}
	if e.recent = append(e.recent, shown); len(e.recent) > linesBefore+linesAfter {
		e.recent = e.recent[1:]
	}
	return e.rank > 0 || !e.Found() || e.number-e.at < linesAfter
}

// rankOf returns the index of the first text that a line has.
func (e *Excerpt) rankOf(line string) int {
	for i, sought := range e.sought[:e.rank] {
		if strings.Contains(line, sought) {
			return i
		}
	}
	return len(e.sought)
}

// Of returns the excerpt of the log of a container, or nil if there are no lines.
func (e *Excerpt) Of(pod, container string) *httpapi.LogExcerpt {
	lines, first := e.lines, e.first
	if !e.Found() {
		lines, first = e.recent, e.number-len(e.recent)+1
	}
	if len(lines) == 0 {
		return nil
	}
	return &httpapi.LogExcerpt{Pod: pod, Container: container, FirstLine: first, Match: e.at, Lines: lines}
}

// Found reports whether the log has one of the texts.
func (e *Excerpt) Found() bool { return e.rank < len(e.sought) }

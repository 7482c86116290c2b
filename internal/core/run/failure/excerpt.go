package failure

import (
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// The bounds of an excerpt: what a person reads first. A line has an eighth of what the page shows of it.
const (
	linesBefore, linesAfter = 10, 20
	maxLogLine              = 300 // bytes
)

// Excerpt finds the lines around the first failure in a log, or else its last lines.
type Excerpt struct {
	sought []string
	recent []string // of the lines so far, the last ones
	number int      // of the last line
	found  bool
	lines  []string
	first  int
}

// NewExcerpt looks for the first line with one of the texts: the names and messages of failed tests. Short ones would be found anywhere.
func NewExcerpt(texts ...string) *Excerpt {
	e := &Excerpt{}
	for _, text := range texts {
		if text = strings.TrimSpace(text); len(text) >= 6 {
			e.sought = append(e.sought, text)
		}
	}
	return e
}

// Add takes the next line, and reports whether it wants more.
func (e *Excerpt) Add(text []byte) bool {
	e.number++
	shown, _ := plaintext.Block(string(text), maxLogLine)
	shown = strings.TrimRight(strings.ReplaceAll(shown, "\n", " "), " ")
	if e.found {
		e.lines = append(e.lines, shown)
		return len(e.lines) <= linesBefore+linesAfter
	}
	if e.has(string(text)) {
		e.found = true
		before := e.recent[max(0, len(e.recent)-linesBefore):]
		e.lines, e.first = append(append([]string{}, before...), shown), e.number-len(before)
		return true
	}
	if e.recent = append(e.recent, shown); len(e.recent) > linesBefore+linesAfter {
		e.recent = e.recent[1:]
	}
	return true
}

func (e *Excerpt) has(text string) bool {
	for _, sought := range e.sought {
		if strings.Contains(text, sought) {
			return true
		}
	}
	return false
}

// Of returns the excerpt of the log of a container, or nil if there are no lines.
func (e *Excerpt) Of(pod, container string) *httpapi.LogExcerpt {
	lines, first := e.lines, e.first
	if !e.found {
		lines, first = e.recent, e.number-len(e.recent)+1
	}
	if len(lines) == 0 {
		return nil
	}
	return &httpapi.LogExcerpt{Pod: pod, Container: container, FirstLine: first, Lines: lines}
}

// Found reports whether the log has one of the texts.
func (e *Excerpt) Found() bool { return e.found }

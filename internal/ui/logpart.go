package ui

import (
	"bytes"
	"io"

	"github.com/postflight-dev/postflight/internal/ui/view"
)

// maxPart bounds the part of a log that is kept for a page, in bytes: a thousand lines, each as long as one is shown. Of
// longer lines there are fewer.
const maxPart = 4 << 20

// logPart is lines of a log that follow each other.
type logPart struct {
	lines [][]byte
	bytes int
}

func (p *logPart) add(line []byte) {
	p.lines, p.bytes = append(p.lines, bytes.Clone(line)), p.bytes+len(line)
}

// addLast keeps the last lines only.
func (p *logPart) addLast(line []byte) {
	p.add(line)
	for len(p.lines) > logLines || p.bytes > maxPart {
		p.bytes -= len(p.lines[0])
		p.lines[0], p.lines = nil, p.lines[1:]
	}
}

// readPart keeps the lines from a number on, or the last ones if it is 0.
func (d *logData) readPart(log io.Reader, from int) error {
	var kept logPart
	err := eachLine(log, func(number int, line []byte) bool {
		d.Total = number
		switch {
		case from <= 0:
			kept.addLast(line)
		case number == from+len(kept.lines) && len(kept.lines) < logLines && kept.bytes < maxPart:
			kept.add(line)
		}
		return true
	})
	if from <= 0 {
		from = d.Total - len(kept.lines) + 1
	}
	d.First, d.Last = from, from+len(kept.lines)-1
	d.Blocks = view.Blocks(d.First, kept.lines)
	if d.First > 1 {
		d.Older = max(1, d.First-logLines)
	}
	if d.Last < d.Total {
		d.Newer = d.Last + 1
	}
	return err
}

package pages

import (
	"bytes"
	"io"
	"iter"
	"slices"

	"github.com/postflight-dev/postflight/internal/core/view"
)

const (
	// maxPart bounds the part of a log that is kept for a page, in bytes: a thousand lines of 1 KiB. Of longer lines there are
	// fewer.
	maxPart = 1 << 20

	// maxPartHTML bounds what it becomes. A thousand lines of 100 bytes with four colours each are 350 KiB.
	maxPartHTML = 512 << 10
)

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

// fit is how many of the lines a page has room for: at least one.
func fit(lines iter.Seq2[int, []byte]) (n int) {
	size := 0
	for _, line := range lines {
		if size += view.LineOf(0, line).HTMLBytes(); size > maxPartHTML && n > 0 {
			break
		}
		n++
	}
	return n
}

// readPart keeps the lines from a number on, or if that is 0, the last ones before another number, or if that is 0 too, the
// last ones.
func (d *logData) readPart(log io.Reader, from, before int) error {
	var kept logPart
	err := eachLine(log, func(number int, line []byte) bool {
		d.Total = number
		switch {
		case from <= 0 && (before <= 0 || number < before):
			kept.addLast(line)
			d.Last = number
		case number == from+len(kept.lines) && len(kept.lines) < logLines && kept.bytes < maxPart:
			kept.add(line)
		}
		return true
	})
	if from > 0 {
		kept.lines = kept.lines[:fit(slices.All(kept.lines))]
		d.Last = from + len(kept.lines) - 1
	} else {
		kept.lines = kept.lines[len(kept.lines)-fit(slices.Backward(kept.lines)):]
	}
	d.First = d.Last - len(kept.lines) + 1
	d.Blocks = view.Blocks(d.First, kept.lines)
	d.Older = d.First > 1
	if d.Last < d.Total {
		d.Newer = d.Last + 1
	}
	return err
}

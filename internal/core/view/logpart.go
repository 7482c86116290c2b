package view

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// logLines is how many lines of a log a page shows: two thousand would still be fast, but no one reads them.
	logLines = 1000

	// logHits bounds the result of a search.
	logHits = 200

	// maxRawLine bounds a line in memory, in bytes. The rest is left out; Spans shows less.
	maxRawLine = 64 << 10

	// maxPart bounds the part of a log that is kept for a page, in bytes: a thousand lines of 1 KiB, or fewer longer ones.
	maxPart = 1 << 20

	// maxPartHTML bounds what it becomes. A thousand lines of 100 bytes with four colours each are 350 KiB.
	maxPartHTML = 512 << 10
)

// LogPart is the part of a log that a page shows.
type LogPart struct {
	Blocks []LogBlock
	First  int // number of the first line that is shown
	Last   int
	Total  int   // lines so far
	Older  bool  // there are lines before the first
	Newer  int   // number of the first line of the part after this; 0 if there is none
	Hits   []Hit // of a search
	More   bool  // there are more hits
}

// Hit is a line that has what was searched for.
type Hit struct {
	Number               int
	Before, Match, After string
	Query                string // of the page that shows the line among others
}

// QueryAround selects the part of a log around a line.
func QueryAround(log string, number int) url.Values {
	return url.Values{"log": {log}, "from": {strconv.Itoa(max(1, number-logLines/2))}}
}

// EachLine calls a function with each line, of which it keeps at most maxRawLine bytes, until it returns false.
func EachLine(log io.Reader, visit func(number int, line []byte) bool) error {
	in := bufio.NewReaderSize(log, maxRawLine)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			return ignoreEOF(err)
		}
		ended := !visit(number, line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if ended || err != nil {
			return ignoreEOF(err)
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Search finds a text in any case. The name of the log is for the queries of the hits.
func (p *LogPart) Search(log io.Reader, text, name string) error {
	lower := strings.ToLower(text)
	return EachLine(log, func(number int, line []byte) bool {
		p.Total = number
		before, match, after, found := Mark(line, lower)
		if !found {
			return true
		}
		if len(p.Hits) == logHits {
			p.More = true
			return false
		}
		p.Hits = append(p.Hits, Hit{number, before, match, after, QueryAround(name, number).Encode()})
		return true
	})
}

// Read keeps the lines from a number on, or if that is 0, the last ones before another number, or if that is 0 too, the
// last ones.
func (p *LogPart) Read(log io.Reader, from, before int) error {
	var kept keptLines
	err := EachLine(log, func(number int, line []byte) bool {
		p.Total = number
		switch {
		case from <= 0 && (before <= 0 || number < before):
			kept.addLast(line)
			p.Last = number
		case number == from+len(kept.lines) && len(kept.lines) < logLines && kept.bytes < maxPart:
			kept.add(line)
		}
		return true
	})
	if from > 0 {
		kept.lines = kept.lines[:fit(slices.All(kept.lines))]
		p.Last = from + len(kept.lines) - 1
	} else {
		kept.lines = kept.lines[len(kept.lines)-fit(slices.Backward(kept.lines)):]
	}
	p.First = p.Last - len(kept.lines) + 1
	p.Blocks = Blocks(p.First, kept.lines)
	p.Older = p.First > 1
	if p.Last < p.Total {
		p.Newer = p.Last + 1
	}
	return err
}

// keptLines are lines of a log that follow each other.
type keptLines struct {
	lines [][]byte
	bytes int
}

func (k *keptLines) add(line []byte) {
	k.lines, k.bytes = append(k.lines, bytes.Clone(line)), k.bytes+len(line)
}

// addLast keeps the last lines only.
func (k *keptLines) addLast(line []byte) {
	k.add(line)
	for len(k.lines) > logLines || k.bytes > maxPart {
		k.bytes -= len(k.lines[0])
		k.lines[0], k.lines = nil, k.lines[1:]
	}
}

// fit returns how many of the lines a page has room for: at least one.
func fit(lines iter.Seq2[int, []byte]) (n int) {
	size := 0
	for _, line := range lines {
		if size += LineOf(0, line).HTMLBytes(); size > maxPartHTML && n > 0 {
			break
		}
		n++
	}
	return n
}

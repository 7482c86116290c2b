package logtext

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
	maxLines    = 1000      // bounds the lines on a page: two thousand would still be fast, but no one reads them
	maxHits     = 200       // bounds the result of a search
	maxRawLine  = 64 << 10  // bounds a line in memory, in bytes; Spans shows less
	maxPart     = 1 << 20   // bounds the part of a log in memory, in bytes: a thousand lines of 1 KiB, or fewer longer ones
	maxPartHTML = 512 << 10 // bounds its HTML, in bytes: a thousand lines of 100 bytes with four colours each are 350 KiB
)

// Part is the part of a log that a page shows.
type Part struct {
	Blocks []Block
	First  int // number of the first line that is shown
	Last   int
	Total  int   // lines so far
	Older  bool  // there are lines before the first
	Newer  int   // number of the first line of the part after this; 0 if there is none
	Hits   []Hit // of a search
	More   bool  // there are more hits
}

// Hit is a line that contains the text of a search.
type Hit struct {
	Number               int
	Before, Match, After string
	Query                string // of the page that shows the line among others
}

// QueryAround selects the part of a log around a line.
func QueryAround(log string, number int) url.Values {
	return url.Values{"log": {log}, "from": {strconv.Itoa(max(1, number-maxLines/2))}}
}

// EachLine calls visit with at most maxRawLine bytes of each line, until it returns false.
func EachLine(log io.Reader, visit func(number int, line []byte) bool) error {
	input := bufio.NewReaderSize(log, maxRawLine)
	for number := 1; ; number++ {
		line, err := input.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			return ignoreEOF(err)
		}
		ended := !visit(number, line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = input.ReadSlice('\n')
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
func (p *Part) Search(log io.Reader, text, name string) error {
	lower := strings.ToLower(text)
	return EachLine(log, func(number int, line []byte) bool {
		p.Total = number
		before, match, after, found := Mark(line, lower)
		if !found {
			return true
		}
		if len(p.Hits) == maxHits {
			p.More = true
			return false
		}
		p.Hits = append(p.Hits, Hit{number, before, match, after, QueryAround(name, number).Encode()})
		return true
	})
}

// Read keeps the lines from a number on, or the last ones before another number, or the last ones; 0 means no number.
func (p *Part) Read(log io.Reader, from, before int) error {
	var kept keptLines
	err := EachLine(log, func(number int, line []byte) bool {
		p.Total = number
		switch {
		case from <= 0 && (before <= 0 || number < before):
			kept.addLast(line)
			p.Last = number
		case number == from+len(kept.lines) && len(kept.lines) < maxLines && kept.bytes < maxPart:
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

type keptLines struct {
	lines [][]byte
	bytes int
}

func (k *keptLines) add(line []byte) {
	k.lines, k.bytes = append(k.lines, bytes.Clone(line)), k.bytes+len(line)
}

func (k *keptLines) addLast(line []byte) {
	k.add(line)
	for len(k.lines) > maxLines || k.bytes > maxPart {
		k.bytes -= len(k.lines[0])
		k.lines[0], k.lines = nil, k.lines[1:]
	}
}

// fit returns how many of the lines a page has room for: at least one.
func fit(lines iter.Seq2[int, []byte]) (n int) {
	size := 0
	for _, line := range lines {
		if size += LineOf(0, line).htmlBytes(); size > maxPartHTML && n > 0 {
			break
		}
		n++
	}
	return n
}

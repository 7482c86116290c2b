package ui

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/ui/view"
)

const (
	// logLines is how many lines of a log a page shows: two thousand would still be fast, but no one reads them.
	logLines = 1000

	// logHits bounds the result of a search.
	logHits = 200

	// maxRawLine bounds a line in memory, in bytes. What follows is left out; view.Spans shows less.
	maxRawLine = 64 << 10
)

// logData is a part of a log.
type logData struct {
	Names   []logName
	Name    string // of the one that is shown
	Blocks  []view.LogBlock
	First   int // number of the first line that is shown
	Last    int
	Total   int // lines so far
	Older   int // number of the first line of the part before; 0 if there is none
	Newer   int
	Search  string
	Hits    []hit
	More    bool // there are more hits
	Running bool // the log may go on
	Problem string
}

type logName struct {
	Value, Label string
	Current      bool
}

type hit struct {
	Number               int
	Before, Match, After string
	Query                string
}

func (u *UI) logPage(r *request) (*page, error) {
	d, s, err := u.run(r, "log")
	if err != nil {
		return nil, err
	}
	if d.Log, err = u.readLog(r, s); err != nil {
		return nil, err
	}
	return d.page(), nil
}

// readLog is nil where there are no logs. It reads the whole log, and keeps a part: 16 MiB take a tenth of a second.
func (u *UI) readLog(r *request, s *v1alpha1.Suite) (*logData, error) {
	name, d, err := u.chooseLog(r, s)
	if err != nil || d == nil {
		return nil, err
	}
	log, err := u.Logs.Open(r.Context(), s, name, false)
	if err != nil {
		d.Problem = "This log cannot be read at the moment."
		u.Log.Error(err, "a log cannot be read", "suite", s.Namespace+"/"+s.Name)
		return d, nil
	}
	defer log.Close()
	query := r.URL.Query()
	if d.Search = strings.TrimSpace(query.Get("q")); d.Search != "" {
		return d, d.search(log)
	}
	from, _ := strconv.Atoi(query.Get("from"))
	return d, d.readPart(log, from)
}

// chooseLog finds the log that the query names, or the first one.
func (u *UI) chooseLog(r *request, s *v1alpha1.Suite) (LogName, *logData, error) {
	if u.Logs == nil {
		return LogName{}, nil, nil
	}
	names, err := u.Logs.List(r.Context(), s)
	if err != nil {
		return LogName{}, nil, unavailable(err)
	}
	if len(names) == 0 {
		return LogName{}, nil, nil
	}
	chosen, d := names[0], &logData{Running: !s.Finished()}
	for _, n := range names {
		if n.value() == r.URL.Query().Get("log") {
			chosen = n
		}
	}
	d.Name = chosen.value()
	for _, n := range names {
		d.Names = append(d.Names, logName{Value: n.value(), Label: n.label(), Current: n == chosen})
	}
	return chosen, d, nil
}

func (n LogName) value() string {
	if n.Previous {
		return n.Pod + "/" + n.Container + "/previous"
	}
	return n.Pod + "/" + n.Container
}

func (n LogName) label() string {
	if n.Previous {
		return n.Container + " before its restart, in " + n.Pod
	}
	return n.Container + " in " + n.Pod
}

// readPart keeps the lines from a number on, or the last ones if it is 0.
func (d *logData) readPart(log io.Reader, from int) error {
	var kept [][]byte
	err := eachLine(log, func(number int, line []byte) bool {
		d.Total = number
		switch {
		case from <= 0 && len(kept) >= 2*logLines: // forget a thousand at a time
			kept = append(kept[:0:0], kept[logLines:]...)
			fallthrough
		case from <= 0, number >= from && number < from+logLines:
			kept = append(kept, bytes.Clone(line))
		}
		return true
	})
	if from <= 0 {
		kept = kept[max(0, len(kept)-logLines):]
		from = d.Total - len(kept) + 1
	}
	d.First, d.Last = from, from+len(kept)-1
	d.Blocks = view.Blocks(d.First, kept)
	if d.First > 1 {
		d.Older = max(1, d.First-logLines)
	}
	if d.Last < d.Total {
		d.Newer = d.Last + 1
	}
	return err
}

// search finds a text in any case.
func (d *logData) search(log io.Reader) error {
	lower := strings.ToLower(d.Search)
	return eachLine(log, func(number int, line []byte) bool {
		d.Total = number
		before, match, after, found := view.Mark(line, lower)
		if !found {
			return true
		}
		if len(d.Hits) == logHits {
			d.More = true
			return false
		}
		q := url.Values{"log": {d.Name}, "from": {strconv.Itoa(max(1, number-logLines/2))}}
		d.Hits = append(d.Hits, hit{number, before, match, after, q.Encode()})
		return true
	})
}

// eachLine calls a function with each line, of which it keeps at most maxRawLine bytes, until it returns false.
func eachLine(log io.Reader, visit func(number int, line []byte) bool) error {
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
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// downloadLog sends a whole log as text.
func (u *UI) downloadLog(w http.ResponseWriter, r *request) error {
	s, err := u.suite(r)
	if err != nil {
		return err
	}
	name, d, err := u.chooseLog(r, s)
	if err == nil && d == nil {
		err = notFound()
	}
	if err != nil {
		return err
	}
	log, err := u.Logs.Open(r.Context(), s, name, false)
	if err != nil {
		return unavailable(err)
	}
	defer log.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+s.Name+"-"+name.Container+`.log"`)
	_, _ = io.Copy(u.patient(w), log) // the browser is gone
	return nil
}

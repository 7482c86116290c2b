package results

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

const (
	maxLogBytes = 16 << 20 // bounds the log of a pod, in memory and in the store: 200,000 tests of ordinary names have some 4 MiB
	maxLogTexts = 1 << 20  // bounds the texts of its failures, in bytes, as in a document
)

// LogHeader is the first line of a log of tests.
type LogHeader struct {
	Version int       `json:"version"`
	Index   *int      `json:"index,omitempty"` // completion index of the pod
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Tests   int32     `json:"tests"` // that were not skipped
	Failed  int32     `json:"failed"`
	Omitted int32     `json:"omitted,omitempty"` // tests that are missing from the log, because it would be too large
}

// LogVersion is the version of the lines that follow a header.
const LogVersion = 1

// Log has every test of a pod as a line of JSON, compressed, in the order of the reports. The zero value is empty.
type Log struct {
	buffer  bytes.Buffer // a gzip member for each report, so that a copy of a report can be taken back
	packer  *gzip.Writer
	lines   *json.Encoder // into the packer
	line    httpapi.Test  // that is encoded
	report  int           // where in the buffer the present report begins
	settled int           // what is before this place in the buffer does not change
	texts   int           // bytes
	omitted int32

	before struct {
		texts   int
		omitted int32
	}
}

func (l *Log) begin() {
	l.report, l.before.texts, l.before.omitted = l.buffer.Len(), l.texts, l.omitted
	if l.packer == nil {
		l.packer = gzip.NewWriter(&l.buffer)
		l.lines = newEncoder(l.packer)
		return
	}
	l.packer.Reset(&l.buffer)
}

func (l *Log) end() { _ = l.packer.Close() } // writing into memory cannot fail

func (l *Log) discard() {
	l.end()
	l.buffer.Truncate(l.report)
	l.texts, l.omitted = l.before.texts, l.before.omitted
}

// settle ends the attempts at some tests.
func (l *Log) settle() { l.settled = l.buffer.Len() }

// keep drops all lines since settle but the lines of some tests, given by their indexes among these lines.
func (l *Log) keep(tests []found) {
	byIndex := make(map[int]*found, len(tests))
	for i := range tests {
		byIndex[int(tests[i].index)] = &tests[i]
	}
	packed, err := gzip.NewReader(bytes.NewReader(bytes.Clone(l.buffer.Bytes()[l.settled:])))
	if err != nil { // no line has been written
		return
	}
	l.buffer.Truncate(l.settled)
	l.packer.Reset(&l.buffer)
	decoder := json.NewDecoder(packed)
	for i := 0; decoder.More(); i++ {
		var line httpapi.Test
		if decoder.Decode(&line) != nil {
			break // we wrote it
		}
		if f := byIndex[i]; f != nil {
			line.State, line.Retries = states[f.outcome], max(line.Retries, f.retried)
			l.write(line)
		}
	}
	l.end()
}

func (l *Log) add(test *testCase) {
	if l.buffer.Len() >= maxLogBytes {
		l.omitted++
		return
	}
	line := httpapi.Test{
		Name: test.name, Suite: test.suite, File: test.file, Line: test.line, State: states[test.outcome],
		Milliseconds: test.milliseconds, Retries: test.retries, Message: test.failure.Message, Text: test.failure.Text,
		Quarantined: test.failure.Quarantine != "",
	}
	if test.failure.File != "" && line.File == "" {
		line.File, line.Line = test.failure.File, test.failure.Line
	}
	if l.texts += len(line.Text); l.texts > maxLogTexts {
		line.Text = ""
	}
	l.write(line)
}

// write cannot fail: the values are strings and numbers, and writing into memory cannot fail.
func (l *Log) write(line httpapi.Test) {
	l.line = line // a pointer to a line of its own would take memory
	_ = l.lines.Encode(&l.line)
}

var states = map[outcome]string{
	passed: httpapi.TestPassed, flaky: httpapi.TestFlaky, failed: httpapi.TestFailed, skipped: httpapi.TestSkipped,
}

func newEncoder(to io.Writer) *json.Encoder {
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	return out
}

// Content returns the log with a header, or nil if there is no test.
func (l *Log) Content(index *int, started, ended time.Time, c Counts) []byte {
	if l.buffer.Len() == 0 {
		return nil
	}
	header := LogHeader{
		Version: LogVersion, Index: index, Started: started.UTC(), Ended: ended.UTC(),
		Tests: c.Tests - c.Skipped, Failed: c.Failed, Omitted: l.omitted,
	}
	var first bytes.Buffer
	packer := gzip.NewWriter(&first)
	_ = newEncoder(packer).Encode(header)
	_ = packer.Close()
	return slices.Concat(first.Bytes(), l.buffer.Bytes())
}

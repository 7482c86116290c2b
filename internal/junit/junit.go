// Package junit merges JUnit reports of tests into one, for the CI system to show.
//
// It is pure. Reports come from the containers of the tests: what is copied is well-formed, whatever they hold.
package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// MaxReport bounds a report, in bytes. It is in memory while it is read. One with the output of thousands of tests
// has a few MiB.
const MaxReport = 32 << 20

// ErrNoReport is the error of a file that is no JUnit report, such as one about coverage.
var ErrNoReport = errors.New("it is no JUnit report")

// Report is what is known of a report, or of several.
type Report struct {
	Tests    int
	Failures int // and errors
}

// Writer writes one report. Close it at the end.
type Writer struct {
	Report

	out *bytes.Buffer
	to  io.Writer
}

// NewWriter returns a Writer of a document.
func NewWriter(to io.Writer) (*Writer, error) {
	w := &Writer{out: &bytes.Buffer{}, to: to}
	w.out.WriteString(xml.Header + "<testsuites name=\"Postflight\">\n")
	return w, w.flush()
}

// Add copies the test suites of a report, whose names get the prefix. A report that cannot be read adds nothing.
func (w *Writer) Add(report io.Reader, prefix string) error {
	w.out.Reset()
	c := copier{out: w.out, prefix: prefix}
	if err := c.copy(report); err != nil {
		return err
	}
	w.Tests += c.Tests
	w.Failures += c.Failures
	return w.flush()
}

// AddCase adds a suite with one test. An empty failure means that it passed.
func (w *Writer) AddCase(suite, name, failure string) error {
	w.out.Reset()
	failures := min(len(failure), 1)
	fmt.Fprintf(w.out, `<testsuite name="%s" tests="1" failures="%d"><testcase classname="%[1]s" name="%[3]s">`,
		escaped(suite), failures, escaped(name))
	if failures > 0 {
		fmt.Fprintf(w.out, `<failure message="%s"></failure>`, escaped(failure))
	}
	w.out.WriteString("</testcase></testsuite>\n")
	w.Tests++
	w.Failures += failures
	return w.flush()
}

// Close ends the document.
func (w *Writer) Close() error {
	w.out.Reset()
	w.out.WriteString("</testsuites>\n")
	return w.flush()
}

func (w *Writer) flush() error {
	_, err := w.to.Write(w.out.Bytes())
	return err
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}

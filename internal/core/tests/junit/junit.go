// Package junit reads reports of tests in JUnit XML, and merges them into one for the CI system to show. It is pure. Reports come from the
// containers of the tests: reading is bounded, and a copy is well-formed, whatever they hold.
package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Report counts the tests of one or several reports.
type Report struct {
	Tests    int
	Failures int // and errors
}

// IsReport reports whether a file may be a report, by its name.
func IsReport(path string) bool {
	return len(path) > len(".xml") && strings.EqualFold(path[len(path)-len(".xml"):], ".xml")
}

// Problem returns a sentence about a report that could not be read whole.
func Problem(path string, tests int, err error) string {
	which := "No test"
	if tests > 0 {
		which = fmt.Sprintf("Only the first %d tests", tests)
	}
	return fmt.Sprintf("%s of the report %s could be read: %v.", which, plaintext.Line(path, maxPath), err)
}

// Writer writes one report. Close it at the end.
type Writer struct {
	Report

	to io.Writer
}

// NewWriter begins a document.
func NewWriter(to io.Writer) (*Writer, error) {
	_, err := io.WriteString(to, xml.Header+"<testsuites name=\"Postflight\">\n")
	return &Writer{to: to}, err
}

// Add copies the test suites of a report, with prefixed names, up to where it breaks off.
func (w *Writer) Add(report io.Reader, prefix string) (added Report, err error) {
	c := copier{to: w.to, prefix: prefix}
	err = c.copy(report)
	w.Tests += c.Tests
	w.Failures += c.Failures
	return c.Report, err
}

// AddCase adds a suite with one test. An empty failure means that it passed.
func (w *Writer) AddCase(suite, name, failure string) error {
	var out bytes.Buffer
	failures := min(len(failure), 1)
	fmt.Fprintf(&out, `<testsuite name="%s" tests="1" failures="%d"><testcase classname="%[1]s" name="%[3]s">`,
		escaped(suite), failures, escaped(name))
	if failures > 0 {
		fmt.Fprintf(&out, `<failure message="%s"></failure>`, escaped(failure))
	}
	out.WriteString("</testcase></testsuite>\n")
	w.Tests++
	w.Failures += failures
	_, err := out.WriteTo(w.to)
	return err
}

// Property is what a report says besides its tests.
type Property struct{ Name, Value string }

// AddProperties adds a suite without tests, for what JUnit has no other place for.
func (w *Writer) AddProperties(suite string, properties []Property) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<testsuite name="%s" tests="0" failures="0"><properties>`, escaped(suite))
	for _, p := range properties {
		fmt.Fprintf(&out, `<property name="%s" value="%s"/>`, escaped(p.Name), escaped(p.Value))
	}
	out.WriteString("</properties></testsuite>\n")
	_, err := out.WriteTo(w.to)
	return err
}

// Close ends the document.
func (w *Writer) Close() error {
	_, err := io.WriteString(w.to, "</testsuites>\n")
	return err
}

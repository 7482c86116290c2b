package results_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// shownTests are what a CI system makes of a report: the test cases in suites, which may have suites in them.
type shownTests struct {
	Suites []shownTests `xml:"testsuite"`
	Cases  []struct {
		Status   string     `xml:"status,attr"`
		Failures []struct{} `xml:"failure"`
		Errors   []struct{} `xml:"error"`
		Skipped  []struct{} `xml:"skipped"`
	} `xml:"testcase"`
}

func (s shownTests) counts() (tests, failed, skipped int32) {
	for _, inner := range s.Suites {
		t, f, skip := inner.counts()
		tests, failed, skipped = tests+t, failed+f, skipped+skip
	}
	for _, c := range s.Cases {
		tests++
		switch {
		case len(c.Failures)+len(c.Errors) > 0:
			failed++
		case len(c.Skipped) > 0, c.Status == "notrun", c.Status == "disabled":
			skipped++
		}
	}
	return tests, failed, skipped
}

// copied is a report as --junit writes it.
func copied(t *testing.T, report io.Reader) ([]byte, junit.Report) {
	t.Helper()
	var out bytes.Buffer
	w, err := junit.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Add(report, "") // the tests before an error count
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.Report
}

// agree fails unless the copy of a report, and what is said of it, have the tests that were read from the report.
func agree(t *testing.T, report io.Reader, read *results.Tests) {
	t.Helper()
	document, said := copied(t, report)
	var shown shownTests
	if err := xml.Unmarshal(document, &shown); err != nil {
		t.Fatalf("the copy is not well-formed: %v\n%.2000s", err, document)
	}
	tests, failed, skipped := shown.counts()
	if c := read.Counts; tests != c.Tests || failed != c.Failed || skipped != c.Skipped || said != (junit.Report{Tests: int(tests), Failures: int(failed)}) {
		t.Errorf("%d tests were read, of which %d failed and %d were skipped; the copy has %d, %d and %d, and is said to have %+v\n%.2000s",
			c.Tests, c.Failed, c.Skipped, tests, failed, skipped, said, document)
	}
}

// TestToolsAgree: CI systems show the tests that the page of the run counts, and those that failed have the same names.
func TestToolsAgree(t *testing.T) {
	all, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(all) == 0 {
		t.Fatal("no reports", err)
	}
	for _, file := range all {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tests := read(t, filepath.Base(file))
			report, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, bytes.NewReader(report), tests)
			document, _ := copied(t, bytes.NewReader(report))
			var again results.Tests
			if !again.Add(file, bytes.NewReader(document)) || names(results.Brief(tests.Failures)) != names(results.Brief(again.Failures)) {
				t.Errorf("the failures of the copy are\n%q, those of the report\n%q", names(results.Brief(again.Failures)), names(results.Brief(tests.Failures)))
			}
		})
	}
}

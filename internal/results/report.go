package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// outcome of a test.
type outcome uint8

const (
	passed outcome = iota
	flaky          // failed, was repeated, and passed
	failed
	skipped
)

// testCase is what a report says of a test.
type testCase struct {
	name         string
	outcome      outcome
	milliseconds int64
	failure      Failure // if it failed
	outside      bool    // it is a failure of a suite
}

// errNoReport says that a file is something else than a report in JUnit XML.
var errNoReport = errors.New("it is not a report")

// What ends the reading of a report. The tests before count.
var (
	errDepth = errors.New("its elements are nested too deeply")
	errTests = errors.New("there are too many tests")
	errCut   = errors.New("its end is missing")
	errEmpty = errors.New("it ends before its first element")
	errLarge = errors.New("it is larger than 64 MiB")
	errRead  = errors.New("reading it failed")
)

// parse calls emit for each test of a report, in order, until that returns false.
func parse(r io.Reader, emit func(testCase) bool) error {
	p := parser{scanner: scanner{in: bufio.NewReaderSize(utf8Reader(r), 32<<10)}, emit: emit}
	for {
		t, err := p.scanner.next()
		if err == nil {
			err = p.token(t)
		}
		switch content := isContent(err); {
		case err == nil:
		case !content:
			return errRead // its text may hold a path of the pod
		case !p.found && !p.other && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
			return errEmpty
		case !p.found:
			return errNoReport
		case errors.Is(err, errNoReport): // a second root element
			return errMarkup
		case errors.Is(err, io.EOF) && len(p.stack) == 0:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return errCut
		default:
			return err
		}
	}
}

// isContent reports whether an error is one of what a file holds, and not of reading it.
func isContent(err error) bool {
	return slices.ContainsFunc([]error{errNoReport, errMarkup, errDepth, errTests, io.EOF, io.ErrUnexpectedEOF}, func(known error) bool {
		return errors.Is(err, known)
	})
}

// parser follows the elements of a report.
type parser struct {
	scanner scanner
	emit    func(testCase) bool
	found   bool // the root element of a report
	other   bool // text before any element
	stack   []string
	suites  []suite  // that are open, in the root element, which is one of them
	test    *element // the test case that is open, or the failure of a suite
}

type suite struct {
	depth      int // of its element
	name, file string

	announced, listed int // failures, also of suites in it
}

func (p *parser) token(t token) error {
	switch t.kind {
	case startTag:
		if len(p.stack) == maxDepth {
			return errDepth
		}
		p.stack = append(p.stack, t.name)
		return p.start(t)
	case endTag:
		if len(p.stack) == 0 || p.stack[len(p.stack)-1] != t.name {
			return errMarkup
		}
		p.stack = p.stack[:len(p.stack)-1]
		return p.end(t)
	default:
		p.other = p.other || len(p.stack) == 0
		if p.test != nil {
			p.test.text(t)
		}
		return nil
	}
}

func (p *parser) start(t token) error {
	if len(p.stack) == 1 && t.name != "testsuites" && t.name != "testsuite" {
		return errNoReport
	}
	p.found = true
	switch {
	case p.test != nil:
		p.test.start(t)
	case t.name == "testsuite", t.name == "testsuites":
		failures := announced(t.attrs["failures"]) + announced(t.attrs["errors"])
		p.suites = append(p.suites, suite{depth: len(p.stack), name: t.attrs["name"], file: t.attrs["file"], announced: failures})
		if t.name == "testsuites" { // its name is the tool's
			p.suites[len(p.suites)-1].name = ""
		}
	case t.name == "testcase":
		p.test = newElement(t, p.suites, len(p.stack))
	case t.name == "failure", t.name == "error": // of what comes before or after all tests of a suite
		p.test = newElement(token{}, p.suites, len(p.stack))
		p.test.start(t)
	}
	return nil
}

func (p *parser) end(t token) error {
	switch {
	case p.test != nil && p.test.depth > len(p.stack):
		test := p.test.testCase()
		p.list(p.test.failures)
		p.test = nil
		if !p.emit(test) {
			return errTests
		}
	case p.test != nil:
		p.test.end(t)
	case len(p.suites) > 0 && p.suites[len(p.suites)-1].depth > len(p.stack):
		return p.endSuite()
	}
	return nil
}

// list counts failures of the suites that are open.
func (p *parser) list(failures int) {
	for i := range p.suites {
		p.suites[i].listed += failures
	}
}

// endSuite makes a failure of those that the suite announces and does not list: the report was cut, filtered or put together by hand.
func (p *parser) endSuite() error {
	s := p.suites[len(p.suites)-1]
	missing := s.announced - s.listed
	if missing > 0 {
		p.list(missing)
		test := missingTest(p.suites, missing)
		if !p.emit(test) {
			return errTests
		}
	}
	p.suites = p.suites[:len(p.suites)-1]
	return nil
}

func missingTest(suites []suite, missing int) testCase {
	said := "The report announces a failure that it does not list."
	if missing > 1 {
		said = fmt.Sprintf("The report announces %d failures that it does not list.", missing)
	}
	e := newElement(token{}, suites, 0)
	e.start(token{name: "failure", attrs: map[string]string{"message": said}})
	test := e.testCase()
	if test.name == unnamed {
		test.name = "the report"
		test.failure.Name = test.name
	}
	return test
}

// announced is what an attribute counts, at most as many as there are tests; 0 for anything else.
func announced(attribute string) int {
	n, err := strconv.Atoi(attribute)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxCount)
}

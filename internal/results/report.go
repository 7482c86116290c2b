package results

import (
	"bufio"
	"errors"
	"io"
	"slices"
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
	suites  []suite
	test    *element // the test case that is open, or the failure of a suite
}

type suite struct {
	depth      int // of its element
	name, file string
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
	case t.name == "testsuite":
		p.suites = append(p.suites, suite{len(p.stack), t.attrs["name"], t.attrs["file"]})
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
		p.test = nil
		if !p.emit(test) {
			return errTests
		}
	case p.test != nil:
		p.test.end(t)
	case len(p.suites) > 0 && p.suites[len(p.suites)-1].depth > len(p.stack):
		p.suites = slices.Delete(p.suites, len(p.suites)-1, len(p.suites))
	}
	return nil
}

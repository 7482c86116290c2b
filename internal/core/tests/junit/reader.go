package junit

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Role is what an element is in a report.
type Role int

// The roles. What is in a test is content, whatever its name.
const (
	Content Role = iota
	SuiteElement
	TestElement // a test case, or a failure outside of test cases, which counts as one
)

// Token is a tag or a text of a report.
type Token struct {
	Kind    Kind
	Role    Role    // of the element that it starts or ends
	Name    string  // of this element, without its prefix
	Attrs   Attrs   // of a start tag
	Text    string  // its first bytes, if it is longer than the reader was told to keep
	Rest    string  // the last bytes of a text that was cut; empty: it was not
	Cut     bool    // the text, or an attribute, has lost its end
	Suites  []Suite // that it is in, at the start and the end of suites and tests, until the next token is read
	Missing int     // at the end of a suite: failures that it announces and does not list, inner suites included
}

// Unnamed stands for the name of a test that has none.
const Unnamed = "(a test without a name)"

// MissingTest describes the failed test that stands for the missing failures.
func (t *Token) MissingTest() (name, message string) {
	name = cmp.Or(Path(t.Suites), "the report")
	if t.Missing == 1 {
		return name, "The report announces a failure that it does not list."
	}
	return name, fmt.Sprintf("The report announces %d failures that it does not list.", t.Missing)
}

// ErrNoReport is the error of a file that is no JUnit report, such as one about coverage.
var ErrNoReport = errors.New("it is not a JUnit report")

// ErrEmpty is the error of a file that may have become a report.
var ErrEmpty = errors.New("it ends before its first element")

// What ends the reading of a report. The tests before count.
var (
	errMarkup = errors.New("its XML is broken")
	errDepth  = errors.New("its elements are nested too deeply")
	errTests  = errors.New("there are too many tests")
	errCut    = errors.New("its end is missing")
	errLarge  = fmt.Errorf("it is larger than %d MiB", MaxReport>>20)
	errRead   = errors.New("reading it failed")
)

// Reader decides what a report is, which of its elements are tests, and how much of it counts.
type Reader struct {
	limited *io.LimitedReader
	scanner scanner
	tests   int      // that may still come
	found   bool     // the root element of a report
	other   bool     // text before any element
	stack   []string // elements that are open
	suites  []Suite  // that are open, in the root element, which is one of them
	counts  []suiteCounts
	closed  bool // the innermost suite has ended with the last token
	open    []openTest

	gotestsum bool // wrote the report

	same map[string]int // suites with the same names
}

// openTest is a test that has not ended.
type openTest struct {
	depth   int
	failed  int // its elements that count in the totals of its suites
	attrs   Attrs
	mayFail bool
}

type suiteCounts struct {
	depth, announced, listed int

	flakes bool // it counts tests that passed after a failure
	errors int  // of the announced ones, the errors of testsuites
}

// NewReader reads at most so many tests, and keeps at most so many bytes of each text.
func NewReader(report io.Reader, tests, text int) *Reader {
	limited := &io.LimitedReader{R: report, N: MaxReport + 1}
	input := bufio.NewReaderSize(utf8Reader(limited), 32<<10)
	return &Reader{
		limited: limited, tests: tests, same: map[string]int{},
		scanner: scanner{input: input, maxText: text, names: map[string]string{}},
	}
}

// Next returns the next token, io.EOF after a whole report, or an error that contains nothing from the file.
func (r *Reader) Next() (Token, error) {
	if r.closed {
		last := len(r.suites) - 1
		r.suites, r.counts, r.closed = r.suites[:last], r.counts[:last], false
	}
	t, err := r.scanner.next()
	if err == nil {
		err = r.token(&t)
	}
	if err != nil {
		return Token{}, r.end(err)
	}
	return t, nil
}

func (r *Reader) end(err error) error {
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case !ended && !isContent(err):
		return errRead // its text may hold a path of the pod
	case !r.found && !r.other && ended:
		return ErrEmpty
	case !r.found:
		return ErrNoReport
	case r.limited.N == 0:
		return errLarge
	case errors.Is(err, ErrNoReport): // a second root element
		return errMarkup
	case errors.Is(err, io.EOF) && len(r.stack) == 0:
		return io.EOF
	case ended:
		return errCut
	default:
		return err
	}
}

func isContent(err error) bool {
	return slices.ContainsFunc([]error{ErrNoReport, errMarkup, errDepth, errTests}, func(known error) bool {
		return errors.Is(err, known)
	})
}

func (r *Reader) token(t *Token) error {
	switch t.Kind {
	case Start:
		if len(r.stack) == maxDepth {
			return errDepth
		}
		r.stack = append(r.stack, t.Name)
		return r.start(t)
	case End:
		depth := len(r.stack)
		if depth == 0 || r.stack[depth-1] != t.Name {
			return errMarkup
		}
		r.stack = r.stack[:depth-1]
		return r.close(t, depth)
	default:
		r.other = r.other || len(r.stack) == 0
		return nil
	}
}

func (r *Reader) start(t *Token) error {
	if len(r.stack) == 1 && t.Name != "testsuites" && t.Name != "testsuite" {
		return ErrNoReport
	}
	r.found = true
	r.translate(t)
	r.gotestsum = r.gotestsum || t.Name == "property" && t.Attrs.Get("name") == "go.version"
	failure, last := IsFailure(t.Name), len(r.open)-1
	inTest := last >= 0 && r.open[last].depth == len(r.stack)-1
	switch {
	case last >= 0 && (!inTest || t.Name != "testcase"):
	case last < 0 && (t.Name == "testsuite" || t.Name == "testsuites"):
		t.Role = SuiteElement
		r.openSuite(t)
	case t.Name == "testcase", failure:
		t.Role = TestElement
		r.open = append(r.open, openTest{depth: len(r.stack), attrs: t.Attrs})
		if r.tests--; r.tests < 0 {
			return errTests
		}
	}
	if last = len(r.open) - 1; last >= 0 && (failure || isAttempt(t.Name)) {
		r.open[last].failed++
	}
	t.Suites = r.suites
	return nil
}

func (r *Reader) openSuite(t *Token) {
	suite := Suite{Name: beginning(t.Attrs.Get("name")), File: beginning(t.Attrs.Get("file"))}
	if t.Name == "testsuites" {
		suite.Name = ""
	}
	suite.ID = r.suiteID(suite, t.Attrs.Get("hostname"))
	r.suites = append(r.suites, suite)
	failures, errs := announced(t.Attrs.Get("failures")), announced(t.Attrs.Get("errors"))
	s := suiteCounts{depth: len(r.stack), announced: failures + errs}
	s.flakes = t.Attrs.index("flakes") >= 0
	if t.Name == "testsuites" {
		s.errors = errs
	}
	r.counts = append(r.counts, s)
}

// suiteID counts suites that have the same names and host, and are in the same suites.
func (r *Reader) suiteID(s Suite, host string) string {
	id := s.Name + "\x00" + beginning(host)
	if len(r.suites) > 0 {
		id = r.suites[len(r.suites)-1].ID + "\x00" + id
	}
	digest := sha256.Sum256([]byte(id))
	id = string(digest[:])
	r.same[id]++
	return fmt.Sprintf("%s%d", id, r.same[id])
}

func beginning(text string) string {
	if len(text) <= maxSuite {
		return text
	}
	return strings.ToValidUTF8(text[:maxSuite], "")
}

func (r *Reader) close(t *Token, depth int) error {
	t.Suites = r.suites
	last, test := len(r.counts)-1, len(r.open)-1
	switch {
	case test >= 0 && r.open[test].depth == depth:
		t.Role = TestElement
		r.list(r.open[test].failed)
		r.open = r.open[:test]
	case test < 0 && last >= 0 && r.counts[last].depth == depth:
		t.Role = SuiteElement
		r.closed = true
		return r.missing(t, r.counts[last])
	}
	return nil
}

// missing counts unlisted failures as a failed test: the report was cut, filtered or edited.
func (r *Reader) missing(t *Token, s suiteCounts) error {
	if r.gotestsum { // it announces what Go wrote to stderr, and lists no errors
		s.announced -= s.errors
	}
	if s.announced <= s.listed {
		return nil
	}
	if r.tests--; r.tests < 0 {
		return errTests
	}
	t.Missing = s.announced - s.listed
	r.list(t.Missing)
	return nil
}

func (r *Reader) list(failures int) {
	for i := range r.counts {
		r.counts[i].listed += failures
	}
}

// IsFailure reports whether an element says that its test failed.
func IsFailure(element string) bool { return element == "failure" || element == "error" }

func announced(attribute string) int {
	n, err := strconv.Atoi(attribute)
	if err != nil || n < 0 || len(attribute) > maxNumber {
		return 0
	}
	return min(n, MaxTests)
}

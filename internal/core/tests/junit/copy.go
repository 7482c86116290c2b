package junit

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// copier copies the suites of a report without declarations, comments and namespaces, which could change their meaning in another document.
// Every failure becomes one of a test case in a suite, because CI systems show no others.
type copier struct {
	Report

	to     io.Writer
	prefix string // of the names of the outermost suites

	part   bytes.Buffer // of the copy that is not written yet: an element of a suite that is open
	opened []opened
	depth  int   // how many of these are in the copy
	suites int   // how many are suites in the copy
	added  bool  // a suite is open for tests that are in none
	err    error // of writing

	tests []copiedTest // that are open: one may be in another
	later bytes.Buffer // tests in a test, which are copied after it
}

type copiedTest struct {
	depth         int    // in the copy
	failed, shown bool   // in this test is a failure; CI systems will see it
	before        string // the copy of the test that it is in, so far
}

type opened struct {
	end   string // of the copy; empty: it is not in it
	suite bool
}

func (c *copier) copy(report io.Reader) error {
	r := NewReader(report, MaxTests, maxCopied)
	for {
		t, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			c.finish()
			return errors.Join(err, c.err)
		}
		c.token(t)
		if c.depth == c.suites {
			c.write()
		}
	}
}

func (c *copier) finish() {
	c.part.Reset()
	c.addLater()
	for _, e := range slices.Backward(c.opened) {
		if e.suite {
			c.part.WriteString(e.end)
		}
	}
	c.endAdded()
	c.write()
}

func (c *copier) addLater() {
	_, _ = c.later.WriteTo(&c.part)
}

func (c *copier) write() {
	if _, err := c.part.WriteTo(c.to); err != nil {
		c.err = err
	}
}

func (c *copier) token(t Token) {
	switch t.Kind {
	case Start:
		c.start(t)
	case End:
		c.end(t)
	default:
		if c.depth > 0 && c.opened[len(c.opened)-1].end != "" {
			c.text(t.Text)
			if t.Rest != "" {
				c.text(leftOut)
				c.text(t.Rest)
			}
		}
	}
}

// leftOut stands in a copy for the middle of a text that is too long.
const leftOut = "\n[postflight: the middle of this text was left out]\n"

func (c *copier) text(text string) { _ = xml.EscapeText(&c.part, []byte(text)) } // a buffer takes everything

func (c *copier) start(t Token) {
	switch {
	case t.Role == TestElement && len(c.tests) > 0:
		c.tests = append(c.tests, copiedTest{depth: c.depth + 1, before: c.part.String()})
		c.part.Reset()
		c.element(t.Name, t.Attrs)
		c.open(opened{end: "</testcase>"})
	case t.Role == TestElement:
		c.onlySuites()
		c.startTest(t)
	case t.Role == SuiteElement:
		c.onlySuites()
		c.startSuite(t)
	case c.depth == 0 || !validName.MatchString(t.Name):
		c.open(opened{})
	default:
		c.element(t.Name, t.Attrs)
		c.open(opened{end: "</" + t.Name + ">"})
	}
	if last := len(c.tests) - 1; last >= 0 && IsFailure(t.Name) {
		test := &c.tests[last]
		test.failed = true
		test.shown = test.shown || c.depth == test.depth+1
	}
}

func (c *copier) onlySuites() {
	for i := range c.opened {
		if e := &c.opened[i]; !e.suite && e.end != "" {
			e.end = ""
			c.depth--
			c.part.Reset()
		}
	}
}

func (c *copier) startSuite(t Token) {
	if t.Name == "testsuites" && len(c.opened) == 0 {
		c.open(opened{})
		return
	}
	c.endAdded()
	end := "</testsuite>"
	if c.depth == 0 {
		end += "\n"
		if i := t.Attrs.index("name"); i >= 0 {
			t.Attrs[i].Value = c.prefix + t.Attrs[i].Value
		}
	}
	c.element("testsuite", t.Attrs)
	c.open(opened{end: end, suite: true})
}

func (c *copier) startTest(t Token) {
	c.inSuite()
	c.tests = append(c.tests, copiedTest{depth: c.depth + 1})
	if t.Name == "testcase" {
		c.element(t.Name, t.Attrs)
		c.open(opened{end: "</testcase>"})
		return
	}
	c.tests[0].shown = true // a failure outside of tests
	c.element("testcase", Attrs{{"name", cmp.Or(Path(t.Suites), Unnamed)}})
	c.element(t.Name, t.Attrs)
	c.open(opened{end: "</" + t.Name + "></testcase>"})
}

func (c *copier) end(t Token) {
	last := c.opened[len(c.opened)-1]
	var test *copiedTest
	switch {
	case t.Role == TestElement:
		test = c.endTest()
	case t.Missing > 0:
		name, message := t.MissingTest()
		c.inSuite()
		c.element("testcase", Attrs{{"name", name}})
		c.failure(message)
		c.part.WriteString("</testcase>")
		c.count(true)
	}
	c.opened = c.opened[:len(c.opened)-1]
	if last.end != "" {
		c.part.WriteString(last.end)
		c.depth--
	}
	switch {
	case test == nil:
	case len(c.tests) > 0:
		_, _ = c.part.WriteTo(&c.later)
		c.part.WriteString(test.before)
	default:
		c.addLater()
	}
	if last.suite {
		c.suites--
	}
	if len(c.opened) == 0 {
		c.endAdded()
	}
}

func (c *copier) endTest() *copiedTest {
	last := len(c.tests) - 1
	test := c.tests[last]
	if test.failed && !test.shown {
		c.failure("The failure is in another element of the test.")
	}
	c.count(test.failed)
	c.tests = c.tests[:last]
	return &test
}

func (c *copier) count(failed bool) {
	c.Tests++
	if failed {
		c.Failures++
	}
}

func (c *copier) failure(message string) {
	c.element("failure", Attrs{{"message", message}})
	c.part.WriteString("</failure>")
}

func (c *copier) inSuite() {
	if c.depth == 0 && !c.added {
		c.element("testsuite", Attrs{{"name", strings.TrimRight(c.prefix, ": ")}})
		c.added = true
		c.write()
	}
}

func (c *copier) endAdded() {
	if c.added {
		c.part.WriteString("</testsuite>\n")
		c.added = false
	}
}

func (c *copier) open(e opened) {
	c.opened = append(c.opened, e)
	if e.end != "" {
		c.depth++
	}
	if e.suite {
		c.suites++
	}
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]*$`)

func (c *copier) element(name string, attrs Attrs) {
	c.part.WriteString("<" + name)
	sorted := slices.SortedFunc(slices.Values(attrs), func(a, b Attr) int { return strings.Compare(a.Name, b.Name) })
	for _, attr := range sorted {
		if attr.Name != "xmlns" && validName.MatchString(attr.Name) {
			fmt.Fprintf(&c.part, ` %s="%s"`, attr.Name, escaped(attr.Value))
		}
	}
	c.part.WriteByte('>')
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}

package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// maxDepth bounds how deep the elements of a report are nested: suites may hold suites.
const maxDepth = 100

// copier copies the suites of one report. Declarations, comments and namespaces are left out, so that the copy means
// the same in another document. The decoder knows no entities but the standard ones, so that nothing expands.
type copier struct {
	Report

	out    *bytes.Buffer
	prefix string   // of the names of the outermost suites
	open   []string // elements
}

func (c *copier) copy(report io.Reader) error {
	limited := &io.LimitedReader{R: report, N: MaxReport + 1}
	in := xml.NewDecoder(limited)
	for {
		token, err := in.Token()
		switch {
		case limited.N == 0:
			return fmt.Errorf("it has more than %d MiB", MaxReport>>20)
		case errors.Is(err, io.EOF) && len(c.open) == 0: // there is no element at all
			return ErrNoReport
		case err != nil:
			return err
		}
		if ended, err := c.token(token); ended || err != nil {
			return err
		}
	}
}

// token copies a token. It reports whether the document has ended.
func (c *copier) token(token xml.Token) (ended bool, err error) {
	switch token := token.(type) {
	case xml.StartElement:
		return false, c.start(token)
	case xml.EndElement:
		c.end()
		return len(c.open) == 0, nil
	case xml.CharData:
		if c.inSuite() {
			_ = xml.EscapeText(c.out, token) // a buffer takes everything
		}
	}
	return false, nil
}

func (c *copier) start(e xml.StartElement) error {
	name := e.Name.Local
	if len(c.open) == 0 && name != "testsuites" && name != "testsuite" {
		return ErrNoReport
	}
	if len(c.open) == maxDepth {
		return fmt.Errorf("its elements are nested more than %d deep", maxDepth)
	}
	outermost := !c.inSuite()
	c.open = append(c.open, name)
	if !c.inSuite() {
		return nil
	}
	c.count(name)
	fmt.Fprintf(c.out, "<%s", name)
	written := map[string]bool{}
	for _, a := range e.Attr {
		if a.Name.Space != "" || a.Name.Local == "xmlns" || written[a.Name.Local] {
			continue
		}
		written[a.Name.Local] = true
		if outermost && a.Name.Local == "name" {
			a.Value = c.prefix + a.Value
		}
		fmt.Fprintf(c.out, ` %s="%s"`, a.Name.Local, escaped(a.Value))
	}
	c.out.WriteByte('>')
	return nil
}

func (c *copier) end() {
	inside, last := c.inSuite(), len(c.open)-1
	if inside {
		fmt.Fprintf(c.out, "</%s>", c.open[last])
	}
	if c.open = c.open[:last]; inside && !c.inSuite() {
		c.out.WriteByte('\n')
	}
}

// inSuite reports whether the innermost element is a suite of the document, or in one.
func (c *copier) inSuite() bool {
	return len(c.open) > 0 && c.open[0] == "testsuite" || len(c.open) > 1 && c.open[1] == "testsuite"
}

func (c *copier) count(element string) {
	switch parent := c.open[max(0, len(c.open)-2)]; {
	case element == "testcase":
		c.Tests++
	case parent == "testcase" && (element == "failure" || element == "error"):
		c.Failures++
	}
}

package results

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// element is an open test case, or a failure outside of test cases under the name of its suite.
type element struct {
	attrs  junit.Attrs
	suites []junit.Suite

	outside, failed, flaky, skipped bool
	retries                         int32
	message                         string // attribute of the first failure
	body                            strings.Builder
	bodyCut                         bool
	cut                             bool // some text has lost its end
	inFailure                       bool // its text belongs to the first failure
	inOutput, inErrors              bool
	attachments                     []string // paths as the report has them
}

// newElement lets a test case without a class, in another one, have the name of that one for its class.
func newElement(t junit.Token, enclosing []*element) *element {
	if t.Name == "testcase" {
		e := &element{attrs: t.Attrs, suites: t.Suites, cut: t.Cut}
		if len(enclosing) > 0 && e.class() == "" {
			e.attrs.Set("classname", enclosing[len(enclosing)-1].name())
		}
		return e
	}
	e := &element{suites: t.Suites, cut: t.Cut, outside: true}
	e.start(t)
	return e
}

func (e *element) token(t junit.Token) {
	e.cut = e.cut || t.Cut
	switch t.Kind {
	case junit.Start:
		e.start(t)
	case junit.End:
		e.end(t)
	default:
		e.text(t)
	}
}

func (e *element) start(t junit.Token) {
	if junit.IsFailure(t.Name) {
		if !e.failed {
			e.message, e.inFailure = t.Attrs.Get("message"), true
		}
		e.failed = true
		return
	}
	switch t.Name {
	case "flakyFailure", "flakyError": // of Maven Surefire and of Playwright
		e.flaky = true
		e.retries++
	case "rerunFailure", "rerunError": // that did not help
		e.retries++
	case "skipped":
		e.skipped = true
	case "system-out":
		e.inOutput = true
	case "system-err":
		e.inErrors = true
	}
}

func (e *element) end(t junit.Token) {
	switch {
	case junit.IsFailure(t.Name):
		e.inFailure = false
	case t.Name == "system-out":
		e.inOutput = false
	case t.Name == "system-err":
		e.inErrors = false
	}
}

func (e *element) text(t junit.Token) {
	switch {
	case e.inFailure && e.body.Len() < maxText:
		e.body.WriteString(t.Text)
		e.bodyCut = t.Rest != ""
	case e.inFailure:
		e.bodyCut = true
	case e.inErrors:
		e.flaky = e.flaky || e.attrs.Get("status") == "passed" && retriedByGinkgo.MatchString(t.Text)
	case e.inOutput:
		e.attach(t.Text)
		e.attach(t.Rest)
	}
}

// retriedByGinkgo matches what Ginkgo writes of the earlier attempts at a test that passed.
var retriedByGinkgo = regexp.MustCompile(`Attempt #\d+ Failed\. +Retrying`)

func (e *element) testCase() testCase {
	t := testCase{
		name: e.name(), suite: plaintext.Line(e.classOrPath(), maxName), file: e.file(), line: lineNumber(e.attrs.Get("line")),
		outcome: e.outcome(), milliseconds: milliseconds(e.attrs.Get("time")), retries: e.retries, outside: e.outside,
		identity: e.identity(),
	}
	if t.outcome == failed {
		t.failure = e.failure(t.name)
	}
	return t
}

func (e *element) outcome() outcome {
	switch {
	case e.failed:
		return failed
	case e.skipped, e.attrs.Get("status") == "notrun", e.attrs.Get("status") == "disabled": // of GoogleTest and CTest
		return skipped
	case e.flaky:
		return flaky
	default:
		return passed
	}
}

// identity tells tests apart whose names look alike: of several suites, or with several classes. It has the names of the report, before
// they are shortened and masked.
func (e *element) identity() nameHash {
	if e.attrs.Get("name") == "" {
		return 0
	}
	suite := ""
	if len(e.suites) > 0 {
		suite = e.suites[len(e.suites)-1].ID
	}
	return hashOf(suite).and("\x00").and(e.class()).and("\x00").and(e.attrs.Get("name"))
}

// name joins class (or file) and test, unless the test's name contains the class.
func (e *element) name() string {
	name, class := e.attrs.Get("name"), e.classOrPath()
	if class != "" && !strings.Contains(name, class) {
		name = class + " > " + name
	}
	return lineName(name)
}

func lineName(name string) string {
	return cmp.Or(plaintext.Line(strings.TrimSuffix(name, " > "), maxName-len(" (200000)")), junit.Unnamed)
}

func (e *element) failure(name string) Failure {
	message, body := lines(e.message), lines(e.body.String())
	f := v1alpha1.TestFailure{Name: name, File: cmp.Or(e.attrs.Get("file"), e.suiteFile()), Line: lineNumber(e.attrs.Get("line"))}
	file, line := location(append(message[:min(len(message), 1)], body...))
	if f.File == "" || f.File == file { // the line that failed, not the line of the test, which pytest counts from 0
		f.File, f.Line = file, line
	}
	f.Message = e.reason(message, body)
	detailed := Failure{TestFailure: cleanFailure(f), Attachments: e.attachments}
	detailed.Text, detailed.TextCut = e.details(detailed.Message)
	return detailed
}

// details returns the text of the failure, after a message that it does not contain, or "" if it only repeats line.
func (e *element) details(line string) (text string, cut bool) {
	message, _ := plaintext.Block(terminalCodes(e.message), maxText)
	text, cut = plaintext.Block(terminalCodes(e.body.String()), maxBody)
	long := strings.Contains(message, "\n") || len(message) > maxMessage
	if end := message[strings.LastIndexByte(message, '\n')+1:]; long && !strings.Contains(text, strings.TrimSpace(end)) {
		text, cut = plaintext.Block(message+"\n\n"+text, maxBody)
	}
	if strings.TrimSpace(text) == line {
		text = ""
	}
	return text, cut || e.bodyCut
}

func (e *element) class() string { return cmp.Or(e.attrs.Get("classname"), e.attrs.Get("class")) }

// classOrPath is the class of the test, or else the path of the suites around it.
func (e *element) classOrPath() string {
	if class := e.class(); class != "" && class != "test" { // the test runner of Node.js says test for all
		return class
	}
	return junit.Path(e.suites)
}

// reason returns the first line that says more than that the test failed.
func (e *element) reason(message, body []string) string {
	name := e.attrs.Get("name")
	if len(message) > 0 && !isGeneric(message[0]) && !isTitle(message[0], name) {
		return message[0]
	}
	for _, line := range body {
		if name == "" || !strings.Contains(line, name) {
			return line
		}
	}
	for _, line := range append(message, body...) {
		return line
	}
	return ""
}

// isGeneric reports whether a message says only that the test failed, as tools for Go write.
func isGeneric(message string) bool {
	return slices.Contains([]string{"failed", "failure", "error"}, strings.ToLower(message))
}

// isTitle reports whether a message is only a place and a title, as older versions of Playwright write.
func isTitle(message, name string) bool {
	titles := strings.Split(name, " › ")
	title := titles[len(titles)-1]
	return title != "" && strings.HasSuffix(message, " "+title) && place.MatchString(message)
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(terminalCodes(text)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// terminalCodes restores the escape character, which pytest writes as #x1B.
func terminalCodes(text string) string { return strings.ReplaceAll(text, "#x1B[", "\x1b[") }

// place is a file and a line at the start of a line, or after the arrows of Playwright and Vitest.
var place = regexp.MustCompile(`(?:^|[›❯] )([^\s:›]+\.[A-Za-z]+):([1-9][0-9]{0,8})(?::[0-9]+)?(?:[: ]|$)`)

func location(lines []string) (file string, line int32) {
	for _, text := range lines {
		if found := place.FindStringSubmatch(text); found != nil {
			return found[1], lineNumber(found[2])
		}
	}
	return "", 0
}

func lineNumber(text string) int32 {
	if text == "" { // an error takes memory
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(max(n, 0))
}

func milliseconds(text string) int64 {
	if text == "" {
		return 0
	}
	seconds, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil || !(seconds > 0) { // not a number is not greater
		return 0
	}
	return int64(math.Min(seconds*1000, maxTestMilliseconds))
}

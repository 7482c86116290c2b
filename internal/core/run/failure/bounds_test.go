package failure_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/suites"
)

// hostile are texts that others write: JSON needs six bytes for some of these, and Markdown fences end with others.
var hostile = []string{"<", "`", "\\", "\"", "&", "x", "é", "\u2028", "\x00", "\x1b[2J", "\u202e", "\n```\n# Passed\n", "\n~~~\n", "![](https://example.com/?q=", "|"}

// writer chooses what others write.
type writer interface {
	text(name string, most int) string
	count(name string, of ...int) int
}

// drawn writes by chance.
type drawn struct{ *rapid.T }

func (d drawn) text(name string, most int) string {
	return fill(rapid.SampledFrom(hostile).Draw(d.T, name), rapid.SampledFrom([]int{0, 1, 10, most}).Draw(d.T, name+" bytes"))
}

func (d drawn) count(name string, of ...int) int { return rapid.SampledFrom(of).Draw(d.T, name) }

// full writes as much as there may be, always the same.
type full string

func (f full) text(_ string, most int) string { return fill(string(f), most) }

func (f full) count(_ string, of ...int) int { return of[len(of)-1] }

func fill(piece string, most int) string { return strings.Repeat(piece, most/len(piece)+1)[:most] }

// large is a run of which much is known, all of it written by others.
func large(w writer) failure.Observation {
	s := suites.ASuite(strings.Repeat("r", 63), 0, suites.InState(v1alpha1.Failed(w.text("message", 32768))))
	s.Spec.Trigger.Name, s.Spec.Environment = strings.Repeat("t", 63), strings.Repeat("e", 63)
	s.Spec.Deployment = v1alpha1.Deployment{
		SHA: w.text("sha", 64), Branch: w.text("branch", 255), Repository: w.text("repository", 1024), CommitMessage: w.text("commit", 1024),
		CommitAuthor: w.text("author", 255), URL: w.text("url", 2048), CommitURL: w.text("commit url", 2048), Service: w.text("service", 255),
	}
	s.Status.PodProblem = w.text("pod problem", 2048)
	s.Status.Conditions = append(s.Status.Conditions, v1alpha1.ResultsIncomplete(w.text("incomplete", 32768)),
		v1alpha1.NotArchived("x", w.text("archive", 32768)), v1alpha1.ObjectMissing(w.text("object", 32768)))
	s.Status.UnderTest = &v1alpha1.UnderTest{Changed: w.text("changed", 1024)}
	for range w.count("workloads", 0, 1, 100) {
		s.Status.UnderTest.Workloads = append(s.Status.UnderTest.Workloads, suites.Shop...)
	}
	n := w.count("failures", 0, 1, 6, 20)
	s.Status.Results = &v1alpha1.TestResults{Tests: 40, Failed: int32(n + w.count("more", 0, 20))}
	o := failure.Observation{
		Suite: s, Team: strings.Repeat("m", 63), Page: "https://postflight.example.com/runs/demo/" + s.Name, Explanation: &results.Explanation{},
		History:  map[string]failure.TestHistory{},
		Problems: []string{w.text("problem", 2048), w.text("problem", 2048), w.text("problem", 2048)},
	}
	for i := range n {
		e := results.Explained{Pod: strings.Repeat("p", 63), Failure: results.Failure{Text: w.text("text", 4096), TestFailure: v1alpha1.TestFailure{
			Name: fmt.Sprint(i, w.text("name", 1024)), File: w.text("file", 1024), Message: w.text("said", 1024),
		}}}
		for range 10 {
			e.Files = append(e.Files, results.File{Path: w.text("path", 512)})
		}
		o.Explanation.Failures = append(o.Explanation.Failures, e)
		o.History[e.Name] = failure.TestHistory{Runs: 90, Flaky: 3, Since: &httpapi.FailingSince{CompareURL: w.text("compare", 2048),
			First: httpapi.TestRun{ID: w.text("first", 63), SHA: w.text("first sha", 64), Message: w.text("first message", 4096)}}}
	}
	o.Changed = &httpapi.Changed{Run: strings.Repeat("g", 63), EndedAt: suites.T0, CompareURL: w.text("compare", 2048)}
	for range w.count("changes", 0, 5, 64) {
		o.Changed.Parts = append(o.Changed.Parts, httpapi.ChangedComponent{Repository: w.text("part", 1024), From: w.text("from", 64),
			To: w.text("to", 64), At: time.Time{}})
	}
	o.Log = &httpapi.LogExcerpt{Pod: strings.Repeat("p", 63), Container: strings.Repeat("c", 63), FirstLine: 1}
	for range w.count("lines", 0, 20, 500) {
		o.Log.Lines = append(o.Log.Lines, w.text("line", 300))
	}
	return o
}

// TestBounds: whatever others write, the document is small, and says what was cut.
func TestBounds(t *testing.T) {
	for _, piece := range hostile {
		t.Run(fmt.Sprintf("full of %q", piece), func(t *testing.T) { checkBounds(t, large(full(piece))) })
	}
	rapid.Check(t, func(t *rapid.T) { checkBounds(t, large(drawn{t})) })
}

// failer is a test, or a check of one.
type failer interface {
	Fatalf(format string, args ...any)
}

func checkBounds(t failer, o failure.Observation) {
	f := failure.Of(o)
	whole, err := json.Marshal(f)
	if err != nil || len(whole) > failure.MaxBytes {
		t.Fatalf("%d bytes of JSON: %v", len(whole), err)
	}
	markdown := failure.Markdown(f)
	if len(markdown) > failure.MaxBytes {
		t.Fatalf("%d bytes of Markdown", len(markdown))
	}
	checkCuts(t, o, f)
	checkFences(t, markdown)
}

// checkCuts: what the Observation has and the document has not is named, with a command.
func checkCuts(t failer, o failure.Observation, f httpapi.Failure) {
	said := strings.Join(f.Omitted, "\n")
	for sentence, cut := range map[string]bool{
		"The log was left out: postflight":        len(o.Log.Lines) > 0 && f.Log == nil,
		"The log was cut.":                        f.Log != nil && len(f.Log.Lines) < len(o.Log.Lines),
		"ailures were left out: postflight":       len(f.Tests.Failures) < len(o.Explanation.Failures),
		"workloads under test were left out":      f.Tested.UnderTest == nil,
		"What changed was left out: postflight":   f.Changed == nil,
		"more changes were left out: postflight":  f.Changed != nil && len(f.Changed.Parts) < len(o.Changed.Parts),
		"What the cluster did was left out: post": f.Cluster == nil && len(failure.Warnings(o.Suite)) > 0,
	} {
		if cut && !strings.Contains(said, sentence) {
			t.Fatalf("%q is not said: %s", sentence, said)
		}
	}
}

// fence begins or ends a block of code.
var fence = regexp.MustCompile("^ *(`{3,}|~{3,})")

// checkFences reads Markdown as code hosts do: outside of blocks of code there are only lines of this package. A text of others is in
// code, so that no heading, image or HTML begins in it.
func checkFences(t failer, markdown string) {
	open := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimSuffix(line, "\n")
		mark := strings.TrimSpace(fence.FindString(line))
		if mark != "" && strings.Contains(strings.TrimPrefix(strings.TrimSpace(line), mark), "`") {
			mark = "" // a code span
		}
		switch {
		case open == "" && mark != "":
			open = mark
		case open != "" && strings.TrimSpace(line) == mark && strings.HasPrefix(mark, open):
			open = ""
		case open == "" && strings.HasPrefix(strings.TrimSpace(line), "#") && !ownHeading.MatchString(line):
			t.Fatalf("a heading of others: %q", line)
		}
	}
	if open != "" {
		t.Fatalf("a block of code has no end")
	}
}

var ownHeading = regexp.MustCompile("^(# [A-Z][a-z ]+: `.*|## (What|Changed|Log of|Left out|[0-9]+ of).*)$")

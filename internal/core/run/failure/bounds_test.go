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

// text is at most so long.
func text(t *rapid.T, name string, most int) string {
	piece := rapid.SampledFrom(hostile).Draw(t, name)
	n := rapid.SampledFrom([]int{0, 1, 10, most}).Draw(t, name+" bytes")
	return strings.Repeat(piece, n/len(piece)+1)[:n]
}

// large is a run of which much is known, all of it written by others.
func large(t *rapid.T) failure.Observation {
	s := suites.ASuite(strings.Repeat("r", 63), 0, suites.InState(v1alpha1.Failed(text(t, "message", 32768))))
	s.Spec.Trigger.Name, s.Spec.Environment = strings.Repeat("t", 63), strings.Repeat("e", 63)
	s.Spec.Deployment = v1alpha1.Deployment{
		SHA: text(t, "sha", 64), Branch: text(t, "branch", 255), Repository: text(t, "repository", 1024), CommitMessage: text(t, "commit", 1024),
		CommitAuthor: text(t, "author", 255), URL: text(t, "url", 2048), CommitURL: text(t, "commit url", 2048), Service: text(t, "service", 255),
	}
	s.Status.PodProblem = text(t, "pod problem", 2048)
	s.Status.Conditions = append(s.Status.Conditions, v1alpha1.ResultsIncomplete(text(t, "incomplete", 32768)),
		v1alpha1.NotArchived("x", text(t, "archive", 32768)), v1alpha1.ObjectMissing(text(t, "object", 32768)))
	s.Status.UnderTest = &v1alpha1.UnderTest{Changed: text(t, "changed", 1024)}
	for range rapid.SampledFrom([]int{0, 1, 100}).Draw(t, "workloads") {
		s.Status.UnderTest.Workloads = append(s.Status.UnderTest.Workloads, suites.Shop...)
	}
	n := rapid.SampledFrom([]int{0, 1, 6, 20}).Draw(t, "failures")
	s.Status.Results = &v1alpha1.TestResults{Tests: 40, Failed: int32(n) + rapid.Int32Range(0, 20).Draw(t, "more")}
	o := failure.Observation{
		Suite: s, Team: strings.Repeat("m", 63), Page: "https://postflight.example.com/" + text(t, "page", 2048), Explanation: &results.Explanation{},
		History:  map[string]failure.TestHistory{},
		Problems: []string{text(t, "problem", 2048), text(t, "problem", 2048), text(t, "problem", 2048)},
	}
	for i := range n {
		e := results.Explained{Pod: strings.Repeat("p", 63), Failure: results.Failure{Text: text(t, "text", 4096), TestFailure: v1alpha1.TestFailure{
			Name: fmt.Sprint(i, text(t, "name", 1024)), File: text(t, "file", 1024), Message: text(t, "said", 1024),
		}}}
		for range 10 {
			e.Files = append(e.Files, results.File{Path: text(t, "path", 512)})
		}
		o.Explanation.Failures = append(o.Explanation.Failures, e)
		o.History[e.Name] = failure.TestHistory{Runs: 90, Flaky: 3, Since: &httpapi.FailingSince{CompareURL: text(t, "compare", 2048),
			First: httpapi.TestRun{ID: text(t, "first", 63), SHA: text(t, "first sha", 64), Message: text(t, "first message", 4096)}}}
	}
	o.Changed = &httpapi.Changed{Run: strings.Repeat("g", 63), EndedAt: suites.T0, CompareURL: text(t, "compare", 2048)}
	for range rapid.SampledFrom([]int{0, 5, 64}).Draw(t, "changes") {
		o.Changed.Parts = append(o.Changed.Parts, httpapi.ChangedComponent{Repository: text(t, "part", 1024), From: text(t, "from", 64),
			To: text(t, "to", 64), At: time.Time{}})
	}
	o.Log = &httpapi.LogExcerpt{Pod: strings.Repeat("p", 63), Container: strings.Repeat("c", 63), FirstLine: 1}
	for range rapid.SampledFrom([]int{0, 20, 500}).Draw(t, "lines") {
		o.Log.Lines = append(o.Log.Lines, text(t, "line", 300))
	}
	return o
}

// TestBounds: whatever others write, the document is small, and says what was cut.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := large(t)
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
	})
}

// checkCuts: what the Observation has and the document has not is named, with a command.
func checkCuts(t *rapid.T, o failure.Observation, f httpapi.Failure) {
	said := strings.Join(f.Omitted, "\n")
	for name, cut := range map[string]bool{
		"log":       len(o.Log.Lines) > 0 && (f.Log == nil || len(f.Log.Lines) < len(o.Log.Lines)),
		"failures":  len(f.Tests.Failures) < len(o.Explanation.Failures),
		"workloads": f.Tested.UnderTest == nil,
		"hanged":    f.Changed == nil || len(f.Changed.Parts) < len(o.Changed.Parts),
	} {
		if cut && !strings.Contains(said, name) && !(name == "hanged" && strings.Contains(said, "changes")) {
			t.Fatalf("%s: it is not said that this was cut: %s", name, said)
		}
	}
}

// fence begins or ends a block of code.
var fence = regexp.MustCompile("^ *(`{3,}|~{3,})")

// checkFences reads Markdown as CommonMark does: outside of blocks of code there are only lines of this package. A text of others is in
// code, so that no heading, image or HTML begins in it.
func checkFences(t *rapid.T, markdown string) {
	open := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimSuffix(line, "\n")
		mark := strings.TrimSpace(fence.FindString(line))
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

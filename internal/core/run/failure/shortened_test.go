package failure_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// failedWith is a run whose tests failed with a text each.
func failedWith(texts ...string) failure.Observation {
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", Namespace: "acme"}}
	s.Spec.Trigger.Name, s.Spec.Environment = "smoke", "staging"
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Tests failed.")}
	n := int32(len(texts))
	s.Status.Results = &v1alpha1.TestResults{Tests: n, Failed: n}
	e := &results.Explanation{}
	for i, text := range texts {
		f := v1alpha1.TestFailure{Name: fmt.Sprintf("test %d", i)}
		s.Status.Results.Failures = append(s.Status.Results.Failures, f)
		e.Failures = append(e.Failures, results.Explained{Failure: results.Failure{TestFailure: f, Text: text}, Pod: "pod"})
	}
	return failure.Observation{Suite: s, Team: "acme", Explanation: e}
}

// TestLongSentences: the message of a condition, or a reason why a part cannot be read, takes no place of what tells more.
func TestLongSentences(t *testing.T) {
	o := failedWith("text")
	hostile := strings.Repeat("A pod \x1b[31m\u202e`<b>`@all was lost. ", 900)
	o.Suite.Status.Conditions = append(o.Suite.Status.Conditions, v1alpha1.ResultsIncomplete(hostile))
	o.Problems = slices.Repeat([]string{hostile}, 40)
	o.Log = &httpapi.LogExcerpt{Pod: "pod", Container: "test", FirstLine: 1, Lines: []string{"the only line"}}
	f := failure.Of(o)
	text, err := json.Marshal(f)
	if err != nil || len(text) > failure.MaxBytes || len(failure.Markdown(f)) > failure.MaxBytes {
		t.Errorf("%d bytes of JSON, %d of Markdown, %v", len(text), len(failure.Markdown(f)), err)
	}
	if f.Log == nil || len(f.Cluster) != 1 || f.Tests.Failures[0].Text != "text" {
		t.Errorf("a part is missing: %+v", f)
	}
	if strings.ContainsAny(f.Cluster[0]+strings.Join(f.Omitted, ""), "\x1b\u202e") {
		t.Errorf("control characters: %q, %q", f.Cluster, f.Omitted)
	}
}

// TestCutText: a text that is cut is never shown as if it were whole.
func TestCutText(t *testing.T) {
	const said = "Texts of failures were cut. Whole ones: postflight runs results smoke-1 -n acme --junit report.xml."
	for name, tc := range map[string]struct {
		reason string
		text   string
		cut    bool
	}{
		"A short one.": {"nothing is missing", "short", false},
		"A long one.":  {"the rest is in the report", strings.Repeat("line\n", 800), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := failure.Of(failedWith(tc.text))
			if slices.Contains(f.Omitted, said) != tc.cut || strings.Contains(failure.Markdown(f), said) != tc.cut {
				t.Errorf("%s\n%q", tc.reason, f.Omitted)
			}
		})
	}
}

// TestShortLog: a log is shortened around the line with the failure, and without one to its last lines.
func TestShortLog(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		match       int
		first, last int
	}{
		"A failure in the middle.": {"the lines around it tell most", 110, 105, 119},
		"A failure at the start.":  {"there is nothing before it", 100, 100, 114},
		"A failure at the end.":    {"there is nothing after it", 130, 116, 130},
		"No failure.":              {"the last lines are the best guess", 0, 116, 130},
	} {
		t.Run(name, func(t *testing.T) {
			o := failedWith(slices.Repeat([]string{strings.Repeat("<", 480)}, 3)...)
			o.Log = &httpapi.LogExcerpt{Pod: "pod", Container: "test", FirstLine: 100, Match: tc.match}
			for n := 100; n <= 130; n++ {
				o.Log.Lines = append(o.Log.Lines, fmt.Sprintf("%d%s", n, strings.Repeat(".", 290)))
			}
			l := failure.Of(o).Log
			if l == nil || l.FirstLine != tc.first || !strings.HasPrefix(l.Lines[0], fmt.Sprint(tc.first)) ||
				!strings.HasPrefix(l.Lines[len(l.Lines)-1], fmt.Sprint(tc.last)) {
				t.Errorf("%s\n%+v", tc.reason, l)
			}
		})
	}
}

package results_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// suite is a report of tests by name; one that starts with "!" failed, and one with "-" was skipped.
func suite(names ...string) *results.Tests {
	var b strings.Builder
	b.WriteString("<testsuite>")
	for _, name := range names {
		switch name[0] {
		case '!':
			fmt.Fprintf(&b, `<testcase name="%s"><failure/></testcase>`, name[1:])
		case '-':
			fmt.Fprintf(&b, `<testcase name="%s"><skipped/></testcase>`, name[1:])
		default:
			fmt.Fprintf(&b, `<testcase name="%s"/>`, name)
		}
	}
	b.WriteString("</testsuite>")
	tests := &results.Tests{}
	tests.Add("x.xml", strings.NewReader(b.String()))
	return tests
}

// document is that of a pod of a completion index, from its start to its end in seconds, as it comes back from the store.
func document(t *testing.T, index, from, to int, tests *results.Tests) results.Document {
	t.Helper()
	content, err := json.Marshal(results.Document{
		Run: "before", Index: &index,
		Started: start.Add(time.Duration(from) * time.Second), Ended: start.Add(time.Duration(to) * time.Second),
		Counts: tests.Counts, Failures: tests.Failures, PassedTests: tests.Summary().PassedTests, NamesDigest: tests.Summary().NamesDigest,
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := results.ParseDocument(content)
	d = d.ToCompare()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                    string
		before                    []results.Document
		now                       *results.Tests
		newFailures, known, fixed int32
		failures                  string
		comparedWithNothing       bool
	}{
		"New, known and fixed": {"Exactly by name.", []results.Document{document(t, 0, 0, 9, suite("a", "!b", "!c", "!d"))},
			suite("!a", "!b", "c", "-d", "!e"), 2, 1, 1, "a New, e New, b Known", false},
		"All fixed":        {"Nothing fails.", []results.Document{document(t, 0, 0, 9, suite("!a", "!b"))}, suite("a", "b"), 0, 0, 2, "", false},
		"Nothing failed":   {"Every failure is new.", []results.Document{document(t, 0, 0, 9, suite("a"))}, suite("!a"), 1, 0, 0, "a New", false},
		"Several pods":     {"Together they are the run.", []results.Document{document(t, 0, 0, 9, suite("!a")), document(t, 1, 0, 9, suite("!b"))}, suite("!a", "!b", "!c"), 1, 2, 0, "c New, a Known, b Known", false},
		"A repeated pod":   {"Its last attempt counts.", []results.Document{document(t, 0, 10, 19, suite("a")), document(t, 0, 0, 9, suite("!a"))}, suite("!a"), 1, 0, 0, "a New", false},
		"The same names":   {"Each number is a test.", []results.Document{document(t, 0, 0, 9, suite("t", "!t"))}, suite("!t", "t"), 1, 0, 1, "t New", false},
		"No report before": {"There is nothing to compare with.", []results.Document{document(t, 0, 0, 9, &results.Tests{})}, suite("!a"), 0, 0, 0, "a ", true},
		"No document":      {"It could not be read.", nil, suite("!a"), 0, 0, 0, "a ", true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.now.Compare("before", tc.before)
			c := tc.now.Counts
			if c.NewFailures != tc.newFailures || c.KnownFailures != tc.known || c.Fixed != tc.fixed || (c.ComparedWith == "") != tc.comparedWithNothing {
				t.Errorf("%s\n%+v", tc.reason, c)
			}
			var failures []string
			for _, f := range tc.now.Failures {
				failures = append(failures, f.Name+" "+string(f.History))
			}
			if got := strings.Join(failures, ", "); got != tc.failures {
				t.Errorf("%s\n%s", tc.reason, got)
			}
		})
	}
}

// TestCompareWithMoreThanIsListed: a failure that the document may have left out is neither new nor known.
func TestCompareWithMoreThanIsListed(t *testing.T) {
	var names []string
	for i := range 1001 {
		names = append(names, fmt.Sprintf("!t%d", i))
	}
	now := suite(append(names, "!other")...)
	now.Compare("before", []results.Document{document(t, 0, 0, 9, suite(names...))})
	if c := now.Counts; c.KnownFailures != 1000 || c.NewFailures != 0 || c.Failed != 1002 {
		t.Errorf("%+v", c)
	}
}

func TestParseDocument(t *testing.T) {
	var many []string
	for range 2000 {
		many = append(many, `{"name":"a\u0007"}`)
	}
	d, err := results.ParseDocument([]byte(`{"reports":1,"passed":-1,"failed":5000,"failures":[` + strings.Join(many, ",") + `]}`))
	if err != nil || len(d.Failures) != 1000 || d.Failures[0].Name != "a" || d.Passed != 0 || d.Tests != 5000 {
		t.Errorf("%v, %d failures, %+v", err, len(d.Failures), d.Counts)
	}
	for _, bad := range []string{"", "null,", `{"passed":"1"}`, `{"failed":1e30}`, "<html>"} {
		if d, err := results.ParseDocument([]byte(bad)); err == nil {
			t.Errorf("%q is a document: %+v", bad, d)
		}
	}
}

// TestFromReportToStatus: all steps from a report to the status of a run.
func TestFromReportToStatus(t *testing.T) {
	tests := read(t, "playwright-retries.xml")
	tests.Compare("run-1", []results.Document{document(t, 0, 0, 9, suite("!checkout.spec.js > checkout › breaks"))})
	s, ok := results.ParseMessage(results.Message(tests.Summary()))
	if !ok {
		t.Fatal("the message is not read")
	}
	status := results.Status(results.Merge([]results.Pod{{Name: "pod", Summary: s}}))
	if got, want := results.Sentence(status), "5 of 12 tests failed, 4 of them new, the first: checkout.spec.js > checkout › pays with card."; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	last := v1alpha1.TestFailure{Name: "checkout.spec.js > checkout › breaks", File: "checkout.spec.js", Line: 6, Message: "no database", History: v1alpha1.FailureKnown}
	if diff := cmp.Diff(last, status.Failures[len(status.Failures)-1]); diff != "" || status.Flaky != 2 || len(status.Failures) != 5 {
		t.Errorf("%s\n%+v", diff, status)
	}
	if diff := cmp.Diff([]string{"checkout.spec.js > checkout › recovers", "checkout.spec.js > checkout › recovers (2)"}, status.FlakyTests); diff != "" {
		t.Error(diff)
	}
}

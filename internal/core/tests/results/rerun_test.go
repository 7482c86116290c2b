package results_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func reportOf(cases string) string {
	return "<testsuites><testsuite>" + cases + "</testsuite></testsuites>"
}

// TestRepeatedPassed: a pod says which of the tests that it was to repeat passed, whatever else it ran.
func TestRepeatedPassed(t *testing.T) {
	names := []string{"c > a", "c > b", "c > s", "c > missing"}
	tests := results.Tests{Rerun: results.SetOf(names)}
	tests.Add("junit.xml", strings.NewReader(reportOf(`<testcase classname="c" name="a"/><testcase classname="c" name="b"><failure/></testcase>`+
		`<testcase classname="c" name="s"><skipped/></testcase><testcase classname="c" name="other"/>`)))
	parsed, ok := results.ParseMessage(results.Message(tests.Summary()))
	if !ok || !parsed.RerunPassed.Has("c > a") || parsed.RerunPassed.Len() != 1 {
		t.Fatalf("%+v", parsed)
	}
	other := results.Tests{Rerun: results.SetOf(names)}
	other.Add("junit.xml", strings.NewReader(reportOf(`<testcase classname="c" name="a"/><testcase classname="c" name="missing"/>`)))
	merged := results.Merge([]results.Pod{{Name: "x", Summary: parsed}, {Name: "y", Summary: other.Summary()}}).RerunPassed
	if merged.Len() != 2 || !merged.Has("c > missing") || results.SetOf(names).Without(merged).Len() != 2 {
		t.Errorf("%q", merged)
	}
}

// TestRepeatedOncePassed: a test that was to be repeated passed if it passed somewhere and failed nowhere, in whichever pod.
func TestRepeatedOncePassed(t *testing.T) {
	passes, fails := `<testcase classname="c" name="a"/>`, `<testcase classname="c" name="a"><failure/></testcase>`
	others := `<testcase classname="c" name="x"><failure/></testcase>`
	many := ""
	for i := range 25 {
		many += fmt.Sprintf(`<testcase classname="c" name="%d"><failure/></testcase>`, i)
	}
	for name, tc := range map[string]struct {
		reason     string
		first, end string // reports of two shards
		replaced   bool   // the second pod replaced the first one
		want       int
	}{
		"in one of them":           {"It failed nowhere.", passes, others, false, 1},
		"in both":                  {"It failed nowhere.", passes, passes, false, 1},
		"failed in the other":      {"It failed there.", passes, fails, false, 0},
		"twice in a pod":           {"One of the two failed.", passes + fails, others, false, 0},
		"twice in the other":       {"One of the two failed there.", passes, passes + fails, false, 0},
		"failures without names":   {"It may be one of them.", passes, many, false, 0},
		"in a later pod":           {"It is flaky.", fails, passes, true, 1},
		"failed in a later pod":    {"That counts.", passes, fails, true, 0},
		"left out by a later pod":  {"Nothing shows that it passes.", fails, others, true, 0},
		"skipped in the other pod": {"It passed here.", passes, `<testcase classname="c" name="a"><skipped/></testcase>`, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []results.Pod
			var documents []results.Document
			for i, report := range []string{tc.first, tc.end} {
				tests := results.Tests{Rerun: results.SetOf([]string{"c > a"})}
				tests.Add("junit.xml", strings.NewReader(reportOf(report)))
				parsed, _ := results.ParseMessage(results.Message(tests.Summary()))
				from := start.Add(time.Duration(10*i) * time.Second)
				p := results.Pod{Name: fmt.Sprint(i), Index: &i, Started: from, Ended: from.Add(time.Second), Failed: parsed.Failed > 0, Summary: parsed}
				if tc.replaced {
					p.Index = nil
				}
				pods = append(pods, p)
				documents = append(documents, results.Document{Index: p.Index, Started: p.Started, Ended: p.Ended, Counts: tests.Counts,
					Failures: tests.Failures, PassedTests: tests.Summary().PassedTests, RerunPassed: tests.Summary().RerunPassed})
			}
			if tc.replaced { // only one that failed is replaced
				pods[0].Failed = true
			}
			if got := results.Merge(pods).RerunPassed.Len(); got != tc.want {
				t.Errorf("%s pods: %d", tc.reason, got)
			}
			if got := results.PassedAgain(documents).Len(); got != tc.want && name != "failures without names" {
				t.Errorf("%s documents: %d", tc.reason, got)
			}
		})
	}
}

// TestFullMessage has room for the most tests that are repeated.
func TestFullMessage(t *testing.T) {
	var b strings.Builder
	var names []string
	for i := range results.MaxRerun {
		name := strings.Repeat("x", i+1)
		names = append(names, "c > "+name)
		b.WriteString(`<testcase classname="c" name="` + name + `"/>`)
	}
	set := results.SetOf(names)
	tests := results.Tests{Rerun: set}
	tests.Add("junit.xml", strings.NewReader(reportOf(b.String())))
	message := results.Message(tests.Summary())
	parsed, _ := results.ParseMessage(message)
	if left := set.Without(parsed.RerunPassed).Len(); left != 0 || len(message) > 4<<10 {
		t.Errorf("%d are missing of a message of %d bytes", left, len(message))
	}
}

func TestHostileRepeated(t *testing.T) {
	for _, text := range []string{
		`{"reports":1,"unread":0,"tests":1,"passed":1}` + "\n" + `["repeated","AAAAAAAABBBBBBBB"]` + "\n", // more than passed
		`{"reports":1,"unread":0,"tests":9,"passed":9}` + "\n" + `["repeated","AAAAAAA"]` + "\n",          // no whole name
		`{"reports":1,"unread":0,"tests":900,"passed":900}` + "\n" + `["repeated","` + strings.Repeat("AAAAAAAA", 401) + `"]` + "\n",
		`{"reports":1,"unread":0,"tests":1,"passed":1,"namesDigest":"short"}` + "\n",
	} {
		if s, ok := results.ParseMessage(text); !ok || s.RerunPassed != "" || s.NamesDigest != "" {
			t.Errorf("%t %q %q", ok, s.RerunPassed, s.NamesDigest)
		}
	}
}

func TestFailedIn(t *testing.T) {
	document := func(cases string) results.Document {
		tests := results.Tests{}
		tests.Add("junit.xml", strings.NewReader(reportOf(cases)))
		return results.Document{Counts: tests.Counts, Failures: tests.Failures}
	}
	a, b := `<testcase classname="c" name="a" file="a.js"><failure/></testcase>`, `<testcase classname="c" name="b"/>`
	at := func(d results.Document, index int) results.Document {
		d.Index = &index
		return d
	}
	for name, tc := range map[string]struct {
		documents   []results.Document
		ran, failed int32
		want        string
		problem     string
	}{
		"one":              {[]results.Document{document(a + b)}, 2, 1, "c > a a.js", ""},
		"twice in a pod":   {[]results.Document{document(a + a)}, 2, 2, "c > a a.js, c > a (2) a.js", ""},
		"two shards":       {[]results.Document{at(document(b), 0), at(document(a), 1)}, 2, 1, "c > a a.js", ""},
		"the same in both": {[]results.Document{at(document(a), 0), at(document(a), 1)}, 2, 2, "", "several of its failed tests have one name"},
		"a pod is missing": {[]results.Document{document(a)}, 2, 1, "", "the store has the reports of 1 test, 1 failed, and the run had 2, 1 failed"},
		"unread":           {[]results.Document{{Counts: results.Counts{Reports: 1, Unread: 1, Tests: 1, Failed: 1}}}, 1, 1, "", "the store has the reports"},
		"too many":         {[]results.Document{{Counts: results.Counts{Reports: 1, Tests: 1, Failed: 1}}}, 1, 1, "", "its reports name 0 of its 1 failed tests"},
		"no name":          {[]results.Document{document(`<testcase><failure/></testcase>`)}, 1, 1, "", "a failed test has no name"},
		"no names":         {[]results.Document{document(`<testcase><failure/></testcase><testcase><failure/></testcase>`)}, 2, 2, "", "a failed test has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			all, problem := results.FailedIn(tc.documents, tc.ran, tc.failed)
			var got []string
			for _, f := range all {
				got = append(got, f.Name+" "+f.File)
			}
			if strings.Join(got, ", ") != tc.want || !strings.Contains(problem, tc.problem) || (problem != "") != (tc.problem != "") {
				t.Errorf("%q %q", got, problem)
			}
		})
	}
}

// TestNumbersOfTools: two tests never have one name, even if a tool numbers its tests, too.
func TestNumbersOfTools(t *testing.T) {
	for want, tests := range map[string][]string{
		"adds (3)":              {"adds (2)", "adds", "!adds"},
		"adds (2) (2)":          {"adds", "adds", "!adds (2)"},
		"adds (1) adds (2)":     {"!adds (1)", "!adds (2)"},
		"adds (1) adds (1) (2)": {"!adds (1)", "!adds (1)"},
	} {
		s := suite(tests...).Summary()
		if got := names(s.Failures); got != want || s.FailedTests.Len() != int(s.Failed) || s.PassedTests.Len() != int(s.Passed) {
			t.Errorf("%q: %s, want %s", tests, got, want)
		}
	}
}

// TestSharedNames: in a record, the second test of a name has a number. One that a tool wrote belongs to the name.
func TestSharedNames(t *testing.T) {
	documents := func(names ...string) (all []results.Document) {
		for _, name := range names {
			all = append(all, results.Document{Failures: []results.Failure{{TestFailure: v1alpha1.TestFailure{Name: name}}}})
		}
		return all
	}
	for name, tc := range map[string]struct {
		failed []results.Document
		tests  []string
		want   string
	}{
		"others":                 {documents("same", "own (2)"), []string{"same", "own (2)", "passed", "passed (2)"}, ""},
		"another passed":         {documents("same"), []string{"same", "same (2)"}, "same"},
		"the first passed":       {documents("own (2)"), []string{"own", "own (2)"}, "own"},
		"numbers of a tool":      {documents("adds (1)"), []string{"adds (1)", "adds (2)", "adds (3)"}, ""},
		"all of them failed":     {documents("adds (1)", "adds (2)"), []string{"adds (1)", "adds (2)", "adds (3)"}, ""},
		"numbers from 1":         {documents("adds", "adds (1)"), []string{"adds", "adds (1)"}, ""},
		"a number of such names": {documents("adds (1)"), []string{"adds (1)", "adds (1) (2)"}, "adds (1)"},
		"with leading zeros":     {documents("adds (02)"), []string{"adds", "adds (02)"}, ""},
	} {
		n := results.NewSharedNames(tc.failed)
		for _, test := range tc.tests {
			n.Add(test)
		}
		if got := n.Shared(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

package results_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// attempt is the nth pod of one piece of work, as its termination message says. Its tests are as in suite.
func attempt(n int, names ...string) results.Pod {
	s, _ := results.ParseMessage(results.Message(suite(names...).Summary()))
	from := start.Add(time.Duration(10*n) * time.Second)
	return results.Pod{Index: new(int), Name: fmt.Sprint("pod-", n), Started: from, Ended: from.Add(9 * time.Second), Failed: s.Failed > 0, Summary: s}
}

// numbered are names of so many tests.
func numbered(mark string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%stest %d", mark, i))
	}
	return names
}

// TestRepeatedWithFewerTests: what failed in an earlier attempt does not pass because a later one left it out.
func TestRepeatedWithFewerTests(t *testing.T) {
	full := append(numbered("", 117), "!x", "!y", "!z")
	many := append(numbered("", 1000), numbered("!failed ", 30)...)
	for name, tc := range map[string]struct {
		reason                         string
		attempts                       []results.Pod
		passed, failed, skipped, flaky int32
		failures, flakyTests           string
		unread                         int32
		unrepeated                     int32
		unrepeatedWithoutNames         int32
	}{
		"All again":                 {reason: "They pass.", attempts: []results.Pod{attempt(0, full...), attempt(1, append(numbered("", 117), "x", "y", "z")...)}, passed: 120, flaky: 3, flakyTests: "x y z"},
		"Only the failed ones":      {reason: "A runner that repeats those runs few.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x", "y", "z")}, passed: 3, flaky: 3, flakyTests: "x y z"},
		"Only others":               {reason: "Those that failed were left out.", attempts: []results.Pod{attempt(0, full...), attempt(1, numbered("", 50)...)}, passed: 50, failed: 3, failures: "x y z", unrepeated: 3},
		"Some of them":              {reason: "One was left out.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x", "y")}, passed: 2, failed: 1, flaky: 2, failures: "z", flakyTests: "x y", unrepeated: 1},
		"Skipped":                   {reason: "A skipped test does not pass.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x", "y", "-z")}, passed: 2, skipped: 1, failed: 1, flaky: 2, failures: "z", flakyTests: "x y", unrepeated: 1},
		"One fails again":           {reason: "It fails once.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x", "y", "!z")}, passed: 2, failed: 1, flaky: 2, failures: "z", flakyTests: "x y"},
		"One by one":                {reason: "Each attempt repeats what failed in the one before.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x", "y", "!z"), attempt(2, "z")}, passed: 1, flaky: 1, flakyTests: "x"},
		"One is forgotten":          {reason: "The last attempt is not the only one.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x", "y"), attempt(2, "y")}, passed: 1, failed: 1, flaky: 1, failures: "z", flakyTests: "x", unrepeated: 1},
		"A whole attempt later":     {reason: "It repeats everything.", attempts: []results.Pod{attempt(0, full...), attempt(1, "x"), attempt(2, append(numbered("", 117), "x", "y", "z")...)}, passed: 120, flaky: 3, flakyTests: "x y z"},
		"Passed and failed again":   {reason: "It is not flaky.", attempts: []results.Pod{attempt(0, "!x", "a"), attempt(1, "x"), attempt(2, "!x", "a")}, passed: 1, failed: 1, failures: "x"},
		"Listed attempts, left out": {reason: "Nothing shows that it passes.", attempts: []results.Pod{attempt(0, "a", "!x", "!x"), attempt(1, "a")}, passed: 1, failed: 2, failures: "x x (2)", unrepeated: 2},
		"More than fit, all":        {reason: "It ran the same ones.", attempts: []results.Pod{attempt(0, many...), attempt(1, append(numbered("", 1000), numbered("failed ", 30)...)...)}, passed: 1030, flaky: 30},
		"More than fit, failed":     {reason: "All failed ones are known by their hashes.", attempts: []results.Pod{attempt(0, many...), attempt(1, numbered("failed ", 30)...)}, passed: 30, flaky: 30},
		"More than fit, others":     {reason: "Names of 999 tests do not fit, so nothing shows that they pass.", attempts: []results.Pod{attempt(0, many...), attempt(1, numbered("", 999)...)}, passed: 999, failed: 30, unrepeated: 30, unrepeatedWithoutNames: 18},
		"More failures than a set":  {reason: "What is not known is not repeated.", attempts: []results.Pod{attempt(0, numbered("!", 500)...), attempt(1, numbered("", 300)...)}, passed: 300, failed: 480, flaky: 20, unrepeated: 480, unrepeatedWithoutNames: 480},
		"A cut report, then others": {reason: "Its rest may have failed.", attempts: []results.Pod{unread(attempt(0, "a", "b", "!x")), attempt(1, "x")}, passed: 1, flaky: 1, flakyTests: "x", unread: 1},
		"A cut report, then all":    {reason: "Everything was repeated.", attempts: []results.Pod{unread(attempt(0, "a", "b", "!x")), attempt(1, "a", "b", "x")}, passed: 3, flaky: 1, flakyTests: "x"},
		"No report in between":      {reason: "It shows nothing.", attempts: []results.Pod{attempt(0, full...), {Index: new(int), Name: "pod-1", Started: start.Add(10 * time.Second), Ended: start.Add(19 * time.Second), Failed: true}, attempt(2, numbered("", 50)...)}, passed: 50, failed: 3, failures: "x y z", unrepeated: 3},
		"A setup that failed": {reason: "Nothing shows that it works.",
			attempts: []results.Pod{attempt(0, "!setup", "a"), attempt(1, "a", "b", "c")},
			passed:   3, failed: 1, failures: "setup", unrepeated: 1},
		"A teardown that failed": {reason: "No test shows that it works.",
			attempts: []results.Pod{outside(attempt(0, "!after all", "a", "b")), attempt(1, "a", "b")},
			passed:   2, failed: 1, failures: "after all", unrepeated: 1},
		"Listed attempts": {reason: "They may be rows of a table, so each counts.",
			attempts: []results.Pod{attempt(0, "a", "!x", "!x", "!x"), attempt(1, "a", "x")},
			passed:   2, failed: 2, flaky: 1, failures: "x (2) x (3)", flakyTests: "x", unrepeated: 2},
		"All of one name again": {reason: "Their numbers tell them apart.",
			attempts: []results.Pod{attempt(0, "a", "!x", "!x"), attempt(1, "a", "x", "x")},
			passed:   3, flaky: 2, flakyTests: "x x (2)"},
		"As many others": {reason: "They are not the same.",
			attempts: []results.Pod{attempt(0, "q 3", "!checkout"), attempt(1, "q 4", "q 5")},
			passed:   2, failed: 1, failures: "checkout", unrepeated: 1},
		"A number of its own": {reason: "A tool may write it into a name.",
			attempts: []results.Pod{attempt(0, "a", "pays", "!pays (2)"), attempt(1, "pays")},
			passed:   1, failed: 1, failures: "pays (2)", unrepeated: 1},
		"Without names": {reason: "Nobody knows which tests passed.",
			attempts: []results.Pod{attempt(0, full...), unnamed(attempt(1, append(numbered("", 117), "x", "y", "z")...))},
			passed:   120, failed: 3, failures: "x y z", unrepeated: 3},
		"Nameless": {reason: "Nobody knows whether they are the same.",
			attempts: []results.Pod{attempt(0, "a", "! "), attempt(1, "a", " ")},
			passed:   2, failed: 1, failures: "(a test without a name)", unrepeated: 1},
		"More than fit, as many": {reason: "They are others.",
			attempts: []results.Pod{attempt(0, many...), attempt(1, append(numbered("", 1000), numbered("other ", 30)...)...)},
			passed:   1030, failed: 30, unrepeated: 30, unrepeatedWithoutNames: 18},
		"A cut report, then as many": {reason: "Its rest may have failed.",
			attempts: []results.Pod{unread(attempt(0, "a", "b", "!x")), attempt(1, "c", "d", "x")},
			passed:   3, flaky: 1, flakyTests: "x", unread: 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := results.Merge(tc.attempts)
			want := results.Counts{Reports: 1, Unread: tc.unread, Tests: tc.passed + tc.failed + tc.skipped, Passed: tc.passed, Failed: tc.failed, Skipped: tc.skipped, Flaky: tc.flaky}
			if diff := cmp.Diff(want, got.Counts); diff != "" || got.Unrecovered != tc.unrepeated {
				t.Errorf("%s\n%s\n%d of them were not repeated", tc.reason, diff, got.Unrecovered)
			}
			if failures := names(got.Failures); tc.failures != "" && failures != tc.failures || tc.failures == "" && tc.unrepeatedWithoutNames < tc.unrepeated-int32(len(got.Failures)) {
				t.Errorf("%s\n%s failed", tc.reason, failures)
			}
			slices.Sort(got.FlakyTests)
			if flaky := strings.Join(got.FlakyTests, " "); tc.flakyTests != "" && flaky != tc.flakyTests || len(got.FlakyTests) > 20 {
				t.Errorf("%s\nflaky: %s", tc.reason, flaky)
			}
		})
	}
}

// TestCutReportOfAWorker: another worker may run the same tests, but not all that the report lacks.
func TestCutReportOfAWorker(t *testing.T) {
	for worker, want := range map[bool]int32{false: 0, true: 1} {
		pods := []results.Pod{unread(attempt(0, "a", "!x")), attempt(1, "a", "x")}
		for i := range pods {
			pods[i].Index, pods[i].Worker = nil, worker
		}
		if got := results.Merge(pods); got.Unread != want || got.Failed != 0 {
			t.Errorf("worker %t: %+v", worker, got.Counts)
		}
	}
}

// outside makes the failure of a pod one of a suite.
func outside(p results.Pod) results.Pod {
	p.Summary.Outside = 1
	return p
}

// TestOutside: failures of suites are counted, also in what a pod says.
func TestOutside(t *testing.T) {
	var tests results.Tests
	tests.Add("x.xml", strings.NewReader(`<testsuite name="cart"><failure/><testcase name="a"><failure/></testcase><testcase/><error/></testsuite>`))
	s, _ := results.ParseMessage(results.Message(tests.Summary()))
	if diff := cmp.Diff(results.Counts{Reports: 1, Tests: 4, Passed: 1, Failed: 3, Outside: 2}, s.Counts); diff != "" {
		t.Error(diff)
	}
}

func unread(p results.Pod) results.Pod {
	p.Summary.Unread = 1
	return p
}

// unnamed is a pod whose message has no room for names.
func unnamed(p results.Pod) results.Pod {
	p.Summary.PassedTests, p.Summary.NamesDigest = "", ""
	return p
}

func names(failures []v1alpha1.TestFailure) string {
	var all []string
	for _, f := range failures {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestRepeatedInDocuments: a later run is compared with what its predecessor showed together.
func TestRepeatedInDocuments(t *testing.T) {
	before := []results.Document{document(t, 0, 0, 9, suite("a", "b", "!x", "!y")), document(t, 0, 10, 19, suite("x"))}
	now := suite("a", "b", "!x", "!y")
	now.Compare("before", before)
	if got := now.Counts; got.NewFailures != 1 || got.KnownFailures != 1 || now.Failures[0].Name != "x" {
		t.Errorf("x passed there at last, and y did not: %+v, %+v", got, now.Failures)
	}
}

// TestUnrepeatedIsSaid: a run does not pass by leaving out what failed, and says so.
func TestUnrepeatedIsSaid(t *testing.T) {
	c := &results.Collected{Summary: results.Merge([]results.Pod{attempt(0, "a", "b", "!x"), attempt(1, "a")})}
	got := c.Judge(results.Requirement{})
	want := results.Judgment{By: v1alpha1.DecidedByTests, Problem: "1 of 2 tests failed: x. Of them, 1 failed in an earlier pod, and no later one shows that they pass. " +
		"Repeat all tests, or only the failed ones, under the same names."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOlderCollector: a run in flight while Postflight is upgraded has the summary of an earlier version, which does not count
// reports that could not be read whole.
func TestOlderCollector(t *testing.T) {
	const cut = `"problem":"Only the first 9 tests of the report a.xml could be read: its end is missing."`
	for name, tc := range map[string]struct {
		reason, text string
		problem      string // in the sentence; "": it passes
	}{
		"Older, with a problem": {"It may be about a report.", `{"reports":1,"passed":9,` + cut + `}`, "of an earlier version of Postflight"},
		"Older, without":        {"It tells what it cannot read.", `{"reports":1,"passed":9}`, ""},
		"This one":              {"It counts what it cannot read.", `{"reports":1,"passed":9,"unread":0,"problem":"a.png was not kept."}`, ""},
		"This one, cut":         {"It counts what it cannot read.", `{"reports":1,"passed":9,"unread":1,` + cut + `}`, "a report could not be read whole."},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := results.ParseMessage(tc.text)
			c := &results.Collected{Summary: results.Merge([]results.Pod{{Name: "a", Summary: s}})}
			got := c.Judge(results.Requirement{})
			if (got.Problem == "") != (tc.problem == "") || !strings.Contains(got.Problem, tc.problem) {
				t.Errorf("%s\n%+v", tc.reason, got)
			}
		})
	}
}

package results_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// ran is a pod that started and ended so many seconds after the first, with these failures. The first of x, y, z, 0, 1 and so on that did
// not fail have passed.
func ran(name string, from, to int, passed int, failures ...string) results.Pod {
	var tests []string
	for _, test := range append([]string{"x", "y", "z"}, numbered("", passed)...) {
		if len(tests) < passed && !slices.Contains(failures, test) {
			tests = append(tests, test)
		}
	}
	for _, name := range failures {
		tests = append(tests, "!"+name)
	}
	s := suite(tests...).Summary()
	s.Files, s.Bytes, s.Milliseconds = 2, 10, 1000
	return results.Pod{
		Name: name, Started: start.Add(time.Duration(from) * time.Second), Ended: start.Add(time.Duration(to) * time.Second),
		Failed: len(failures) > 0, Summary: s,
	}
}

func at(index int, p results.Pod) results.Pod {
	p.Index = &index
	return p
}

func without(p results.Pod) results.Pod {
	p.Summary = results.Summary{Problem: "The store did not answer."}
	return p
}

func compared(run string, newFailures, known, fixed int32, p results.Pod) results.Pod {
	p.Summary.ComparedWith, p.Summary.NewFailures, p.Summary.KnownFailures, p.Summary.Fixed = run, newFailures, known, fixed
	for i := range p.Summary.Failures {
		p.Summary.Failures[i].History = v1alpha1.FailureKnown
		if i >= int(known) {
			p.Summary.Failures[i].History = v1alpha1.FailureNew
		}
	}
	return p
}

// cut keeps the first failure only, and no other names, as a long message does.
func cut(p results.Pod) results.Pod {
	p.Summary.Failures, p.Summary.FailedTests, p.Summary.PassedTests = p.Summary.Failures[:1], "", ""
	return p
}

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                        string
		pods                          []results.Pod
		passed, failed, flaky, files  int32
		newFailures, known, fixed     int32
		comparedWith, first, problems string
	}{
		"No pod": {reason: "Nothing is known."},
		"One":    {reason: "It is the run.", pods: []results.Pod{ran("a", 0, 9, 2, "x")}, passed: 2, failed: 1, files: 2, first: "x"},
		"Indexed": {reason: "Each index has its own tests.", pods: []results.Pod{at(0, ran("a", 0, 9, 2, "x")), at(1, ran("b", 0, 9, 3))},
			passed: 5, failed: 1, files: 4, first: "x"},
		"Repeated index": {reason: "The last pod of an index counts, and the files of all are kept.",
			pods: []results.Pod{at(0, ran("b", 10, 19, 3)), at(0, ran("a", 0, 9, 2, "x")), at(1, ran("c", 0, 9, 5))}, passed: 8, flaky: 1, files: 6},
		"Failed again": {reason: "A test that fails in the last pod is not flaky.",
			pods: []results.Pod{at(0, ran("a", 0, 9, 1, "x", "y")), at(0, ran("b", 10, 19, 2, "x"))}, passed: 2, failed: 1, flaky: 1, files: 4, first: "x"},
		"Without index, repeated": {reason: "A pod that starts after a failed one ended replaces it.",
			pods: []results.Pod{ran("a", 0, 9, 2, "x"), ran("b", 10, 19, 3)}, passed: 3, flaky: 1, files: 4},
		"Without index, parallel": {reason: "Pods that run at the same time replace nothing.",
			pods: []results.Pod{ran("a", 0, 9, 2, "x"), ran("b", 1, 9, 3), ran("c", 10, 19, 3)}, passed: 6, flaky: 1, files: 6},
		"Without index, one after another": {reason: "A pod that succeeded is not repeated.",
			pods: []results.Pod{ran("a", 0, 9, 2), ran("b", 10, 19, 3)}, passed: 5, files: 4},
		"Twice repeated": {reason: "A test is flaky once.",
			pods: []results.Pod{at(0, ran("a", 0, 9, 2, "x")), at(0, ran("b", 10, 19, 2, "x")), at(0, ran("c", 20, 29, 3))}, passed: 3, flaky: 1, files: 6},
		"Unnamed failures": {reason: "Names that did not fit into the message are counted, too.",
			pods: []results.Pod{at(0, cut(ran("a", 0, 9, 1, "x", "y", "z"))), at(0, ran("b", 10, 19, 4))}, passed: 4, flaky: 3, files: 4},
		"Unnamed failures in the last": {reason: "Who is not named may have failed.",
			pods: []results.Pod{at(0, ran("a", 0, 9, 1, "x", "y")), at(0, cut(ran("b", 10, 19, 1, "z", "y")))}, passed: 1, failed: 2, files: 4, first: "z"},
		"Crashed at last": {reason: "The last report that exists is better than none.",
			pods: []results.Pod{at(0, ran("a", 0, 9, 2, "x")), at(0, without(ran("b", 10, 19, 0)))}, passed: 2, failed: 1, files: 2, first: "x", problems: "The store did not answer."},
		"Only problems": {reason: "The same problem is told once.", pods: []results.Pod{without(ran("a", 0, 9, 0)), without(ran("b", 0, 9, 0))}, problems: "The store did not answer."},
		"Compared": {reason: "New failures come first.", pods: []results.Pod{
			at(0, compared("r1", 0, 1, 1, ran("a", 0, 9, 2, "old"))), at(1, compared("r1", 1, 1, 0, ran("b", 0, 9, 2, "old2", "new")))},
			passed: 4, failed: 3, files: 4, newFailures: 1, known: 2, fixed: 1, comparedWith: "r1", first: "new"},
		"Compared, left out": {reason: "A failure is new, also if no later pod ran the test.", pods: []results.Pod{
			at(0, compared("r1", 1, 0, 0, ran("a", 0, 9, 2, "new"))), at(0, compared("r1", 0, 0, 0, ran("b", 10, 19, 1)))},
			passed: 1, failed: 1, files: 4, newFailures: 1, comparedWith: "r1", first: "new"},
		"Compared with another, left out": {reason: "It may not be new since that run.", pods: []results.Pod{
			at(0, compared("r1", 1, 0, 0, ran("a", 0, 9, 2, "x"))), at(0, compared("r2", 0, 0, 0, ran("b", 10, 19, 0, "y")))},
			failed: 2, files: 4, known: 0, comparedWith: "r2", first: "y"},
		"Compared with another": {reason: "Two comparisons do not add up.", pods: []results.Pod{
			at(0, compared("r1", 1, 0, 0, ran("a", 0, 9, 2, "x"))), at(1, compared("r2", 1, 0, 0, ran("b", 0, 9, 2, "y")))},
			passed: 4, failed: 2, files: 4, newFailures: 1, comparedWith: "r1", first: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			got := results.Merge(tc.pods)
			first := ""
			if len(got.Failures) > 0 {
				first = got.Failures[0].Name
			}
			want := results.Counts{
				Reports: got.Reports, Tests: tc.passed + tc.failed, Passed: tc.passed, Failed: tc.failed, Flaky: tc.flaky, Milliseconds: got.Milliseconds,
				ComparedWith: tc.comparedWith, NewFailures: tc.newFailures, KnownFailures: tc.known, Fixed: tc.fixed,
			}
			if diff := cmp.Diff(want, got.Counts); diff != "" || got.Files != tc.files || first != tc.first || got.Problem != tc.problems {
				t.Errorf("%s\n%s\nfiles %d, first failure %q, problem %q", tc.reason, diff, got.Files, first, got.Problem)
			}
		})
	}
}

func TestSentence(t *testing.T) {
	first := []v1alpha1.TestFailure{{Name: "checkout > pays with card"}}
	for want, r := range map[string]*v1alpha1.TestResults{
		"":                           nil,
		"The reports list no tests.": {},
		"120 tests passed.":          {Tests: 120, Passed: 120},
		"1 test passed.":             {Tests: 1, Passed: 1},
		"120 tests passed (2 of them flaky), 4 skipped.":                                 {Tests: 124, Passed: 120, Flaky: 2, Skipped: 4},
		"9 tests passed (1 of them flaky: cart > pays).":                                 {Tests: 9, Passed: 9, Flaky: 1, FlakyTests: []string{"cart > pays"}},
		"9 tests passed (2 of them flaky, the first: cart > pays).":                      {Tests: 9, Passed: 9, Flaky: 2, FlakyTests: []string{"cart > pays", "x"}},
		"0 tests passed, 4 skipped.":                                                     {Tests: 4, Skipped: 4},
		"3 of 120 tests failed, 1 of them new, the first: checkout > pays with card.":    {Tests: 120, Failed: 3, ComparedWith: "r", NewFailures: 1, Failures: first},
		"3 of 120 tests failed, none of them new, the first: checkout > pays with card.": {Tests: 120, Failed: 3, ComparedWith: "r", Failures: first},
		"3 of 120 tests failed, all of them new.":                                        {Tests: 120, Failed: 3, ComparedWith: "r", NewFailures: 3},
		"1 of 120 tests failed, a new failure: checkout > pays with card.":               {Tests: 120, Failed: 1, ComparedWith: "r", NewFailures: 1, Failures: first},
		"1 of 120 tests failed, as before: checkout > pays with card.":                   {Tests: 120, Failed: 1, ComparedWith: "r", Failures: first},
		"1 of 1 test failed: checkout > pays with card.":                                 {Tests: 1, Failed: 1, Failures: first},
		"3 of 120 tests failed.":                                                         {Tests: 120, Failed: 3},
	} {
		if got := results.Sentence(r); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestStatusIsBounded: a run of many pods has no more failures in its status than each replica can keep of 10,000 runs.
func TestStatusIsBounded(t *testing.T) {
	s := results.Summary{Counts: results.Counts{Reports: 1, Failed: 30}}
	for range 30 {
		s.Failures = append(s.Failures, v1alpha1.TestFailure{Name: strings.Repeat("n", 100)})
	}
	if got := results.Status(s).Failures; len(got) != 20 {
		t.Errorf("%d short failures, want 20", len(got))
	}
	for i := range s.Failures {
		s.Failures[i].Message = strings.Repeat("m", 900)
	}
	if got := results.Status(s).Failures; len(got) != 8 {
		t.Errorf("%d failures of 1,000 bytes, want 8", len(got))
	}
	for range 20 {
		s.FlakyTests = append(s.FlakyTests, strings.Repeat("n", 150))
	}
	if got := results.Status(s).FlakyTests; len(got) != 1 {
		t.Errorf("%d names in 192 bytes, want 1", len(got))
	}
	s.Failures = nil
	if got := results.Status(s).FlakyTests; len(got) != 5 {
		t.Errorf("%d names, want 5", len(got))
	}
}

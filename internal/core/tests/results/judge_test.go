package results_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func counted(passed, failed, skipped int32) *results.Collected {
	return &results.Collected{Summary: results.Summary{Counts: results.Counts{
		Reports: 1, Tests: passed + failed + skipped, Passed: passed, Failed: failed, Skipped: skipped}}}
}

func but(c *results.Collected, change func(*results.Collected)) *results.Collected {
	change(c)
	return c
}

// TestJudge has a row for each thing that a report may lack, of a run whose containers exited with 0.
func TestJudge(t *testing.T) {
	const tests, report, nothing = v1alpha1.RequireTests, v1alpha1.RequireReport, v1alpha1.RequireNothing
	for name, tc := range map[string]struct {
		reason  string
		c       *results.Collected
		r       results.Requirement
		by      v1alpha1.DecidedBy
		problem string // in the sentence; "": it passes
		lost    bool
	}{
		"Passed":                {"A test ran, and none failed.", counted(1, 0, 3), results.Requirement{Policy: tests}, "Tests", "", false},
		"A Job without a note":  {"It was created by an earlier version.", counted(0, 1, 0), results.Requirement{}, "Tests", "1 of 1 test failed.", false},
		"A failed test":         {"The exit code does not count.", counted(2, 1, 0), results.Requirement{Policy: tests}, "Tests", "1 of 3 tests failed.", false},
		"Failed, any report":    {"An empty report is accepted, and a failed test is not.", counted(2, 1, 0), results.Requirement{Policy: report}, "Tests", "1 of 3 tests failed.", false},
		"Failed, unread report": {"Somebody else wrote the message.", but(counted(0, 1, 0), func(c *results.Collected) { c.Summary.Reports = 0 }), results.Requirement{}, "Tests", "1 test failed.", false},
		"Nothing is required":   {"The exit code alone decides.", counted(2, 1, 0), results.Requirement{Policy: nothing}, "ExitCode", "", false},
		"No pod, not required":  {"The exit code alone decides.", nil, results.Requirement{Policy: nothing}, "ExitCode", "", false},
		"No test":               {"Nothing ran.", counted(0, 0, 0), results.Requirement{Policy: tests}, "Tests", "its reports list no tests.", false},
		"No test, any report":   {"There is a report.", counted(0, 0, 0), results.Requirement{Policy: report}, "Report", "", false},
		"All skipped":           {"Nothing ran.", counted(0, 0, 12), results.Requirement{Policy: tests}, "Tests", "all of its tests were skipped (12).", false},
		"Skipped, any report":   {"There is a report.", counted(0, 0, 12), results.Requirement{Policy: report}, "Report", "", false},
		"Too few":               {"Skipped ones do not count.", counted(9, 0, 1), results.Requirement{Policy: tests, MinTests: 10}, "Tests", "only 9 tests ran, and results.minTests of the Trigger is 10. Check", false},
		"Enough":                {"Exactly as many.", counted(10, 0, 0), results.Requirement{Policy: tests, MinTests: 10}, "Tests", "", false},
		"No file":               {"The tests wrote nothing.", &results.Collected{Summary: results.Summary{Silent: []string{"a"}}}, results.Requirement{}, "Report", "left no JUnit report in the results directory. Write one, or set results.require", false},
		"No report":             {"The tests wrote something else.", &results.Collected{Summary: results.Summary{Files: 2, Silent: []string{"a"}}}, results.Requirement{Policy: report}, "Report", "none of the files in the results directory is a JUnit report.", false},
		"One pod without":       {"One shard of four.", but(counted(9, 0, 0), func(c *results.Collected) { c.Summary.Silent = []string{"smoke-2"} }), results.Requirement{}, "Report", "the tests of one pod, smoke-2, left no JUnit report.", false},
		"Two pods without":      {"Two shards of four.", but(counted(9, 0, 0), func(c *results.Collected) { c.Summary.Silent = []string{"smoke-2", "smoke-3"} }), results.Requirement{}, "Report", "the tests of 2 pods left no JUnit report, the first: smoke-2.", false},
		"Unread": {"The rest may have failed.", but(counted(9, 0, 0), func(c *results.Collected) {
			c.Summary.Unread, c.Summary.Problem = 1, "Only the first 9 tests of the report a.xml could be read: its end is missing."
		}),
			results.Requirement{Policy: report}, "Report", "a report could not be read whole. Only the first 9 tests of the report a.xml could be read", false},
		"Lost":       {"Nobody knows.", but(counted(9, 0, 0), func(c *results.Collected) { c.Lost = []string{"The pod b was evicted."} }), results.Requirement{}, "Report", "what its tests reported is lost, so nothing shows that they passed. The pod b was evicted. Notify again", true},
		"No pod":     {"Nobody knows.", nil, results.Requirement{}, "Report", "Its pods are gone", true},
		"No store":   {"The operator can help.", &results.Collected{NoStore: true}, results.Requirement{}, "Report", "no store for files is configured", true},
		"Not saved":  {"The counts are known.", but(counted(9, 0, 0), func(c *results.Collected) { c.Summary.Problem = "a.png was not kept: the store did not answer." }), results.Requirement{}, "Tests", "", false},
		"An attempt": {"Of pods that failed, another attempt counts.", but(counted(9, 0, 0), func(c *results.Collected) { c.Missing = []string{"The pod a was evicted."} }), results.Requirement{}, "Tests", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.c.Judge(tc.r)
			if got.By != tc.by || got.Lost != tc.lost || (got.Problem == "") != (tc.problem == "") || !strings.Contains(got.Problem+" "+got.Advice, tc.problem) {
				t.Errorf("%s\n%+v", tc.reason, got)
			}
		})
	}
}

package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestToolsOwnWays reads reports whose tools say in ways of their own what failed. Where we read something else than the tool printed, its
// report does not tell.
func TestToolsOwnWays(t *testing.T) {
	type counts struct{ passed, failed, skipped, flaky int32 }
	for name, tc := range map[string]struct {
		reason  string
		last    bool // results.attempts
		printed counts
		read    counts
		differs bool
	}{
		"gotestsum-stderr": {"it announces lines that go test wrote to stderr as errors, and lists none", false, counts{3, 0, 1, 0}, counts{3, 0, 1, 0}, false},
		"gotestsum-build":  {"a package that does not compile is a test", false, counts{2, 5, 1, 0}, counts{2, 5, 1, 0}, false},
		"ctest-not-run":    {"a test that cannot start is written as skipped", false, counts{4, 5, 2, 0}, counts{4, 5, 2, 0}, false},
		"catch2-mayfail":   {"a test that may fail has a failure", false, counts{2, 3, 2, 0}, counts{2, 3, 2, 0}, false},
		"ginkgo-flaky":     {"what failed before is only in the output", false, counts{3, 1, 6, 1}, counts{3, 1, 6, 1}, false},
		"pytest-flaky":     {"earlier attempts are listed as passed", true, counts{3, 4, 1, 1}, counts{3, 4, 1, 0}, true},
		"pytest-subtests":  {"subtests are failures of one test", false, counts{3, 5, 1, 0}, counts{1, 3, 1, 0}, true},
		"boost-expected":   {"an expected failure is written as any other", false, counts{4, 3, 2, 0}, counts{3, 4, 2, 0}, true},
		"testng-retries":   {"attempts are in no order, and skipped tests are errors", false, counts{3, 3, 4, 1}, counts{3, 7, 0, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(filepath.Join("testdata", name+".xml"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			tests := &results.Tests{LastAttempt: tc.last}
			tests.Add(name, file)
			c := tests.Counts
			if (tc.printed == tc.read) == tc.differs {
				t.Errorf("the tool printed %+v", tc.printed)
			}
			if got := (counts{c.Passed, c.Failed, c.Skipped, c.Flaky}); got != tc.read || c.Unread > 0 {
				t.Errorf("%s: read %+v, want %+v; the tool printed %+v", tc.reason, got, tc.read, tc.printed)
			}
		})
	}
}

// TestFlakyMarks: a mark on a test that failed means that it passed in the end only where the suite counts such tests, as Flank does.
func TestFlakyMarks(t *testing.T) {
	for name, tc := range map[string]struct {
		report        string
		failed, flaky int32
	}{
		"Flank":         {`<testsuite failures="0" flakes="1"><testcase name="a" flaky="true"><failure>1</failure><failure>2</failure></testcase></testsuite>`, 0, 1},
		"Flank, failed": {`<testsuite failures="1" flakes="0"><testcase name="a"><failure>1</failure></testcase></testsuite>`, 1, 0},
		"xcresult":      {`<testsuite failures="1"><testcase name="a" flaky="true"><failure message="[FLAKY] 1"/></testcase></testsuite>`, 1, 0},
		"nextest":       {`<testsuite failures="1"><testcase name="a"><failure type="flaky failure"/><flakyFailure/></testcase></testsuite>`, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tests := &results.Tests{}
			tests.Add("r.xml", strings.NewReader(tc.report))
			if c := tests.Counts; c.Failed != tc.failed || c.Flaky != tc.flaky || c.Tests != 1 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestAttemptsOfGotestsum: with --rerun-fails, it lists each attempt.
func TestAttemptsOfGotestsum(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "gotestsum.xml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tests := &results.Tests{LastAttempt: true}
	tests.Add("gotestsum.xml", file)
	if c := tests.Counts; c.Passed != 3 || c.Failed != 2 || c.Skipped != 1 || c.Flaky != 1 || tests.Flaky[0] != "example.com/cart > TestRecovers" {
		t.Errorf("%+v, flaky: %v", c, tests.Flaky)
	}
}

package junit

import (
	"math"
	"regexp"
	"strconv"
)

// Folders and files in which tools leave the reports of attempts, with the number of the attempt as the last group.
var (
	// retries is of Microsoft.Testing.Platform: the report beside the folder is the last one.
	retries = regexp.MustCompile(`(^|/)Retries/[^/]+/([0-9]{1,6})/`)

	// testAttempts is of Bazel: test.xml beside the folder is the last one.
	testAttempts = regexp.MustCompile(`(^|/)test_attempts/attempt_([0-9]{1,6})\.xml$`)

	// rerun is of Flank: the folder without a number is the first one.
	rerun = regexp.MustCompile(`([^/])-rerun_([0-9]{1,6})/`)
)

// Attempt returns the path of the report that has the last attempt at the tests of a report, and which attempt this one has. Those of one
// path are attempts at the same tests.
func Attempt(path string) (last string, number int) {
	for _, tool := range []struct {
		pattern *regexp.Regexp
		last    string
		before  bool // the others: a report without a number is the last one
	}{{retries, "$1", true}, {testAttempts, "${1}test.xml", true}, {rerun, "$1/", false}} {
		match := tool.pattern.FindStringSubmatch(path)
		if match == nil {
			continue
		}
		number, _ = strconv.Atoi(match[2]) // it has few digits
		if tool.before {
			number += math.MinInt32
		}
		return tool.pattern.ReplaceAllString(path, tool.last), number
	}
	return path, 0
}

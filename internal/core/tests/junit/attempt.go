package junit

import (
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Folders and files in which tools leave the reports of attempts. The second group is the series, the third the number of the attempt.
var (
	// retries is of Microsoft.Testing.Platform: the report beside the folder is the last one.
	retries = regexp.MustCompile(`(^|/)Retries/([^/]+)/([0-9]{1,6})/`)

	// testAttempts is of Bazel: test.xml beside the folder is the last one.
	testAttempts = regexp.MustCompile(`(^|/)test_attempts/attempt_()([0-9]{1,6})\.xml$`)

	// rerun is of Flank: the folder without a number is the first one.
	rerun = regexp.MustCompile(`([^/])-rerun_()([0-9]{1,6})/`)
)

// Attempt says which attempt at its tests a report has.
type Attempt struct {
	Last   string // the path of the report that has the last attempt; reports with one path are attempts at the same tests
	Series string // attempts of several series are at tests of several programs; "": the tool has none
	Number int
}

// AttemptOf decides by the path of a report.
func AttemptOf(path string) Attempt {
	for _, tool := range []struct {
		pattern *regexp.Regexp
		last    string
		before  bool // the others: a report without a number is the last one
	}{{retries, "$1", true}, {testAttempts, "${1}test.xml", true}, {rerun, "$1/", false}} {
		match := tool.pattern.FindStringSubmatch(path)
		if match == nil {
			continue
		}
		number, _ := strconv.Atoi(match[3]) // it has few digits
		if tool.before {
			number += math.MinInt32
		}
		return Attempt{Last: tool.pattern.ReplaceAllString(path, tool.last), Series: match[2], Number: number}
	}
	return Attempt{Last: path}
}

// isAttempt matches the elements with which Maven Surefire and Playwright report failed attempts.
func isAttempt(element string) bool {
	return slices.Contains([]string{"flakyFailure", "flakyError", "rerunFailure", "rerunError"}, element)
}

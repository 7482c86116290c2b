package junit

import (
	"slices"
	"strings"
)

// mayFail is what Catch2 writes before the failures of a test that may fail.
const mayFail = "TEST_CASE tagged with !mayfail"

// translate gives an element in a test the name that says what its tool means. docs/results.md has a table.
func (r *Reader) translate(t *Token) {
	last := len(r.open) - 1
	if last < 0 || r.open[last].depth != len(r.stack)-1 {
		return
	}
	test := &r.open[last]
	switch {
	case t.Name == "skipped" && t.Attrs.Get("message") == mayFail:
		test.mayFail = true
	case t.Name == "skipped" && notStarted(test.attrs.Get("status"), t.Attrs.Get("message")):
		t.Name = "failure"
	case IsFailure(t.Name) && test.mayFail:
		t.Name = "expectedFailure"
	case IsFailure(t.Name) && test.attrs.Get("flaky") == "true" && r.countsFlakes(): // of an earlier attempt
		t.Name = "flakyFailure"
	}
}

// reasons are what CTest says of a test that it could not start.
var reasons = []string{"Unable to find ", "Fixture dependency failed", "Required Files Missing", "Missing Configuration",
	"Insufficient resources", "Failed to start"}

// notStarted reports whether CTest could not start a test, which it writes as skipped, as it does with a test that skipped itself.
func notStarted(status, why string) bool {
	return status == "notrun" && slices.ContainsFunc(reasons, func(reason string) bool { return strings.HasPrefix(why, reason) })
}

// countsFlakes reports whether Flank wrote the suite: a test that it marks as flaky has passed in the end. Others mark tests that failed.
func (r *Reader) countsFlakes() bool {
	last := len(r.counts) - 1
	return last >= 0 && r.counts[last].flakes
}

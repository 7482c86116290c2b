// Package tier says which tests run when. `make test` is the gate: it runs all tests with -short, and each must be red only for
// a defect. `make test-all` runs them without: long outages, real browsers, and floods. A change waits for the gate, and
// .ci/run runs the parts of `make test-all` that cover it beside the gate; there, too, no test compares a time with a bound, or
// draws a seed, and none is a flood. All runs each night. docs/development.md lists what runs when.
package tier

import (
	"os"
	"testing"
)

// changeVariable is set by .ci/run for the parts of `make test-all` that a change waits for.
const changeVariable = "POSTFLIGHT_TEST_CHANGE"

// All skips a test, a benchmark or a part of one in the gate. Why completes the sentence "only make test-all runs this, because".
func All(t testing.TB, why string) {
	t.Helper()
	if Gate() {
		t.Skipf("SKIPPED: only `make test-all` runs this, because %s", why)
	}
}

// Nightly skips a flood, or what compares a time with a bound, in everything that a change waits for: how it ends depends on
// what else the machine does. Why completes the sentence "no change waits for this, because".
func Nightly(t testing.TB, why string) {
	t.Helper()
	if Change() {
		t.Skipf("SKIPPED: no change waits for this, only the nightly `make test-all`, because %s", why)
	}
}

// Gate reports whether the gate runs, for tests that have a short form.
func Gate() bool { return testing.Short() }

// Change reports whether a change waits for these tests, in the gate or beside it.
func Change() bool { return Gate() || os.Getenv(changeVariable) != "" }

// Package tier says which tests the gate leaves out. `make test` is the gate: it runs all tests with -short, and each must be
// red only for a defect. `make test-all` runs them without: floods, long outages, figures, and whatever compares a time with a
// bound. docs/development.md lists what runs when.
package tier

import "testing"

// All skips a test, a benchmark or a part of one in the gate. Why completes the sentence "only make test-all runs this, because".
func All(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("SKIPPED: only `make test-all` runs this, because %s", why)
	}
}

// Gate reports whether the gate runs, for tests that have a short form.
func Gate() bool { return testing.Short() }

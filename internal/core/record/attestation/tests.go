package attestation

import (
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Tests collects the names of the tests of a run, as many as a Statement may have. The zero value has none.
type Tests struct{ passed, warned, failed names }

// names of tests, which anyone may have written.
type names struct {
	all   []string
	bytes int
	full  bool
}

func (n *names) add(name string) {
	if n.full {
		return
	}
	name = plaintext.Line(name, maxName)
	if n.full = len(n.all) == maxNames || n.bytes+len(name) > maxNameBytes; name == "" || n.full {
		return
	}
	n.all, n.bytes = append(n.all, name), n.bytes+len(name)
}

// Add takes a test. The order matters only beyond the limits.
func (t *Tests) Add(test httpapi.Test) {
	switch {
	case test.State == httpapi.TestPassed, test.State == httpapi.TestFlaky:
		t.passed.add(test.Name)
	case test.State == httpapi.TestFailed && test.Quarantined:
		t.warned.add(test.Name)
	case test.State == httpapi.TestFailed:
		t.failed.add(test.Name)
	}
}

// testsOf are the failures that a status lists.
func testsOf(r *httpapi.TestResults) *Tests {
	t := &Tests{}
	if r == nil {
		return t
	}
	for _, f := range r.Failures {
		t.Add(httpapi.Test{Name: f.Name, State: httpapi.TestFailed, Quarantined: f.Quarantine != ""})
	}
	return t
}

type lists struct{ passed, warned, failed []string }

// lists are sorted. Names can become equal when they are cleaned; then the worst counts.
func (t *Tests) lists() lists {
	unique := func(n names, worse ...[]string) []string {
		all := slices.Compact(slices.Sorted(slices.Values(n.all)))
		return slices.DeleteFunc(all, func(name string) bool {
			return slices.ContainsFunc(worse, func(list []string) bool {
				_, found := slices.BinarySearch(list, name)
				return found
			})
		})
	}
	l := lists{failed: unique(t.failed)}
	l.warned = unique(t.warned, l.failed)
	l.passed = unique(t.passed, l.failed, l.warned)
	return l
}

// omitted is nil if the lists name all tests that the status counts.
func omitted(r *httpapi.TestResults, l lists) *Omitted {
	if r == nil {
		return nil
	}
	missing := func(all int32, list []string) int32 { return max(0, all-int32(len(list))) }
	o := Omitted{
		Passed: missing(r.Passed, l.passed), Warned: missing(r.Quarantined, l.warned), Failed: missing(r.Failed-r.Quarantined, l.failed),
	}
	if o == (Omitted{}) {
		return nil
	}
	return &o
}

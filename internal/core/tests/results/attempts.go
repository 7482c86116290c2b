package results

import (
	"cmp"
	"maps"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// combine returns the summary of attempts at the same work. The last one with a report counts, and so do the failures of the others that
// no later pod of the run undoes.
func combine(attempts, pods []Pod) Summary {
	last := len(attempts) - 1
	for i, p := range attempts {
		if p.Summary.Reports > 0 {
			last = i
		}
	}
	s := attempts[last].Summary
	s.Failures = slices.Clone(s.Failures)
	flaky, unnamed := map[string]string{}, int32(0)
	for _, p := range attempts[:last] {
		if p.Summary.Reports == 0 {
			continue
		}
		e := earlier{Pod: p, unread: p.Summary.Unread, recovered: map[string]string{}}
		e.failed, e.unnamed = failedIn(p.Summary)
		for _, later := range pods {
			if later.Summary.Reports > 0 && replaces(later, p) {
				e.undo(later.Summary)
			}
		}
		maps.Copy(flaky, e.recovered)
		unnamed = max(unnamed, e.unnamedFlaky)
		s.addFailures(e)
	}
	s.addFlaky(flaky, unnamed)
	return s
}

// earlier is a pod that others replaced, with what none of them has undone so far.
type earlier struct {
	Pod
	unread       int32                           // reports
	failed       map[string]v1alpha1.TestFailure // by the hash of their names; some have no name
	unnamed      int32                           // failed tests without a known hash
	recovered    map[string]string               // names of tests that failed here and passed later, by their hash
	unnamedFlaky int32                           // tests that recovered, without a known hash
}

// undo drops what a later pod undoes: a failed test if it passed there by its name, or if exactly the same tests ran there. A failure
// outside of tests has no test that could pass.
func (e *earlier) undo(s Summary) {
	now, unnamed := failedIn(s)
	same := s.NamesDigest != "" && s.NamesDigest == e.Summary.NamesDigest
	before, passes := int32(len(e.failed))+e.unnamed, s.PassedTests.set()
	for name := range now { // it counts there
		delete(e.failed, name)
		delete(e.recovered, name)
	}
	for name, f := range e.failed {
		if passes[name] || same && unnamed == 0 {
			e.recovered[name] = f.Name
			delete(e.failed, name)
		}
	}
	if same {
		e.unnamedFlaky = max(e.unnamedFlaky, before-s.Failed-int32(len(e.recovered)))
		e.failed, e.unnamed = nil, 0
	}
	if !e.Worker && (same || s.ranAllOf(e.Summary)) { // another worker has other work
		e.unread = 0
	}
}

// ranAllOf reports whether all tests that ran in an earlier pod ran in this one, too, as far as both have names.
func (s Summary) ranAllOf(earlier Summary) bool {
	named := earlier.PassedTests.Len() == int(earlier.Passed) && earlier.FailedTests.Len() == int(earlier.Failed)
	return named && (earlier.PassedTests+earlier.FailedTests).Without(s.PassedTests+s.FailedTests) == ""
}

// addFailures adds what no later pod has undone.
func (s *Summary) addFailures(e earlier) {
	n := int32(len(e.failed)) + e.unnamed
	for _, count := range []*int32{&s.Unrecovered, &s.Failed, &s.Tests} {
		increase(count, n)
	}
	increase(&s.Unread, e.unread)
	for _, f := range slices.SortedFunc(maps.Values(e.failed), func(a, b v1alpha1.TestFailure) int { return cmp.Compare(a.Name, b.Name) }) {
		if e.Summary.ComparedWith != s.ComparedWith {
			f.History = ""
		}
		switch f.History {
		case v1alpha1.FailureNew:
			increase(&s.NewFailures, 1)
		case v1alpha1.FailureKnown:
			increase(&s.KnownFailures, 1)
		}
		if f.Name != "" {
			s.Failures = append(s.Failures, f)
		}
		if f.Quarantine != "" { // a failure without a name cannot be quarantined: it counts
			increase(&s.Quarantined, 1)
			increase(&s.QuarantinedRan, 1)
		}
	}
}

// addFlaky adds tests that failed in an earlier pod and passed in a later one.
func (s *Summary) addFlaky(recovered map[string]string, unnamed int32) {
	s.Flaky = min(s.Passed, s.Flaky+int32(len(recovered))+unnamed)
	names := slices.DeleteFunc(slices.Sorted(maps.Values(recovered)), func(name string) bool { return name == "" })
	s.FlakyTests = slices.Concat(s.FlakyTests, names)
	s.FlakyTests = s.FlakyTests[:min(len(s.FlakyTests), maxFlaky, int(s.Flaky))]
}

// failedIn returns the failed tests by the hash of their names, and how many more there are.
func failedIn(s Summary) (failed map[string]v1alpha1.TestFailure, unnamed int32) {
	failed = map[string]v1alpha1.TestFailure{}
	for _, name := range s.FailedTests.names() {
		failed[name] = v1alpha1.TestFailure{}
	}
	for _, f := range s.Failures {
		failed[hashOf(f.Name).encode()] = f
	}
	return failed, max(0, s.Failed-int32(len(failed)))
}

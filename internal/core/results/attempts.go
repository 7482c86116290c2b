package results

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func together(attempts []Pod) Summary {
	e := earlier{recovered: map[string]string{}}
	last := attempts[len(attempts)-1].Summary
	reported := false
	for _, p := range attempts {
		if p.Summary.Reports == 0 {
			continue
		}
		if reported {
			e.add(last)
		}
		e.repeat(p.Summary)
		last, reported = p.Summary, true
	}
	return e.with(last)
}

type earlier struct {
	ran       int32                           // the tests of the attempt that ran most
	unread    int32                           // reports
	failed    map[string]v1alpha1.TestFailure // tests that were not repeated, by their hash; some have no name
	unnamed   int32                           // those of which not even the hash is known
	recovered map[string]string               // names of tests that failed and passed, by their hash
	again     int32                           // tests that recovered, and of which the hash is not known
}

func (e *earlier) add(s Summary) {
	failed, unnamed := failedIn(s)
	e.ran = max(e.ran, ran(s))
	e.unread = min(e.unread+s.Unread, maxCount)
	e.unnamed = min(e.unnamed+unnamed, maxCount)
	if e.failed == nil {
		e.failed = map[string]v1alpha1.TestFailure{}
	}
	maps.Copy(e.failed, failed)
}

// repeat drops what an attempt repeated: everything if it ran as many tests as any before, or else the tests that it names, because a
// runner that repeats only failed tests runs few and names all.
func (e *earlier) repeat(s Summary) {
	now, unnamed := failedIn(s)
	before := int32(len(e.failed)) + e.unnamed
	for name := range now {
		delete(e.recovered, name)
	}
	if ran(s) >= e.ran {
		for name, f := range e.failed {
			if _, again := now[name]; !again && unnamed == 0 {
				e.recovered[name] = f.Name
			}
		}
		e.again = max(e.again, before-s.Failed-int32(len(e.recovered)))
		e.failed, e.unnamed, e.unread = nil, 0, 0
		return
	}
	passes := map[string]bool{}
	for _, name := range s.PassedTests.names() {
		passes[name] = true
	}
	for name, f := range e.failed {
		if passes[name] || f.Name != "" && passes[hashOf(number.ReplaceAllString(f.Name, "")).encode()] {
			e.recovered[name] = f.Name
			delete(e.failed, name)
		}
	}
	for name := range now {
		delete(e.failed, name) // it counts there
	}
}

// number distinguishes tests with the same name. Some tools list attempts, and errors after a test, under one name.
var number = regexp.MustCompile(` \([0-9]+\)$`)

// ran omits failures outside of tests, which are absent from an attempt that passes.
func ran(s Summary) int32 { return s.Tests - s.Skipped - s.Outside }

func (e *earlier) with(s Summary) Summary {
	s.Flaky = min(s.Passed, s.Flaky+int32(len(e.recovered))+e.again)
	names := slices.DeleteFunc(slices.Sorted(maps.Values(e.recovered)), func(name string) bool { return name == "" })
	s.FlakyTests = slices.Concat(s.FlakyTests, names)
	s.FlakyTests = s.FlakyTests[:min(len(s.FlakyTests), maxFlaky, int(s.Flaky))]
	s.Unrepeated = int32(len(e.failed)) + e.unnamed
	increase(&s.Failed, s.Unrepeated)
	increase(&s.Tests, s.Unrepeated)
	increase(&s.Unread, e.unread)
	left := slices.SortedFunc(maps.Values(e.failed), func(a, b v1alpha1.TestFailure) int { return cmp.Compare(a.Name, b.Name) })
	s.Failures = slices.Clone(s.Failures)
	for _, f := range left {
		if f.Name != "" {
			f.History = ""
			s.Failures = append(s.Failures, f)
		}
		if f.Quarantine != "" { // of a failure without a name, nobody knows: it counts
			increase(&s.Quarantined, 1)
			increase(&s.QuarantinedRan, 1)
		}
	}
	return s
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

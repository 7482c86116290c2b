package results

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

// MaxRerun bounds the failed tests that a run repeats: the message of a pod has no room to say of more that they passed.
const MaxRerun = maxSet

// SetOf returns the set of the names of tests, as reports have them.
func SetOf(names []string) NameSet {
	hashes := make([]nameHash, len(names))
	for i, name := range names {
		hashes[i] = hashOf(name)
	}
	slices.Sort(hashes)
	return newNameSet(slices.Compact(hashes))
}

// Has reports whether a name is in the set.
func (s NameSet) Has(name string) bool { return slices.Contains(s.names(), hashOf(name).encode()) }

// Len is the number of names.
func (s NameSet) Len() int { return len(s) / nameBytes }

// Valid reports whether the set has whole names, and not too many.
func (s NameSet) Valid() bool { return len(s)%nameBytes == 0 && s.Len() <= maxSet }

// Without returns the names that are not in another set.
func (s NameSet) Without(other NameSet) NameSet {
	removed := other.set()
	return NameSet(strings.Join(slices.DeleteFunc(s.names(), func(name string) bool { return removed[name] }), ""))
}

func (s NameSet) union(other NameSet) NameSet { return s + other.Without(s) }

// rerunPassed bounds what a pod says: it names tests that were to be repeated.
func rerunPassed(s NameSet, passed int32) NameSet {
	if !s.Valid() || s.Len() > int(passed) {
		return ""
	}
	return s
}

// passedOf returns those tests of a set that ran and passed, and of whose name no other test failed.
func (t *Tests) passedOf(set NameSet) NameSet {
	if set == "" {
		return ""
	}
	passes := map[string]bool{}
	for name, outcome := range t.outcomes {
		if (outcome == passed || outcome == flaky) && !t.failed[name] {
			passes[name.encode()] = true
		}
	}
	return NameSet(strings.Join(slices.DeleteFunc(set.names(), func(name string) bool { return !passes[name] }), ""))
}

// FailedTest is a test that failed in a run, as another run repeats it.
type FailedTest struct {
	Name string
	File string // that the report names, or ""
}

// FailedIn returns the failed tests of a run from the documents of its pods, or why these do not name all, as a clause.
func FailedIn(documents []Document, ran, failed int32) (all []FailedTest, problem string) {
	merged := Merge(podsOf(documents))
	byName := map[string]FailedTest{}
	for _, f := range merged.Failures {
		byName[f.Name] = FailedTest{Name: f.Name, File: f.File}
	}
	switch {
	case merged.Tests != ran || merged.Failed != failed || merged.Unread > 0:
		return nil, fmt.Sprintf("the store has the reports of %s, %d failed, and the run had %d, %d failed", tests(merged.Tests), merged.Failed,
			ran, failed)
	case len(merged.Failures) < int(failed):
		return nil, fmt.Sprintf("its reports name %d of its %d failed tests", len(merged.Failures), failed)
	case len(byName) < len(merged.Failures):
		return nil, "several of its failed tests have one name"
	}
	for name := range byName {
		if name == junit.Unnamed || number.ReplaceAllString(name, "") == junit.Unnamed {
			return nil, "a failed test has no name"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, ""
}

// SharedNames finds failed tests that share their names with other tests of the run.
type SharedNames map[string]*sharedName

type sharedName struct{ first, numbered bool }

// NewSharedNames looks for the tests that failed by these documents.
func NewSharedNames(documents []Document) SharedNames {
	n := SharedNames{}
	for _, d := range documents {
		for _, f := range d.Failures {
			n[f.Name], n[unnumbered(f.Name)] = &sharedName{}, &sharedName{}
		}
	}
	return n
}

// Add takes a test of the run, with the number that its record gave it.
func (n SharedNames) Add(name string) {
	if known := n[name]; known != nil {
		known.first = true
	}
	if known := n[unnumbered(name)]; known != nil && unnumbered(name) != name {
		known.numbered = true
	}
}

// Shared returns the first name that several tests have, or "". A number belongs to the name unless there is a test without it.
func (n SharedNames) Shared() string {
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if n[name].first && n[name].numbered {
			return name
		}
	}
	return ""
}

// number is what Postflight adds to the second test of a name, and to those after it.
var number = regexp.MustCompile(` \(([2-9]|[1-9][0-9]+)\)$`)

func unnumbered(name string) string { return number.ReplaceAllString(name, "") }

// PassedAgain returns the tests that a run was to repeat and that passed and did not fail, from the documents of its pods.
func PassedAgain(documents []Document) NameSet { return Merge(podsOf(documents)).RerunPassed }

package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

// Tests collects the tests of all reports of a pod. The zero value is empty.
type Tests struct {
	Secrets     mask.Values        // that are masked in names and texts
	Quarantines quarantine.Matcher // finds the Quarantine of a test
	Rerun       NameSet            // tests that the run is to repeat; "" if it runs all
	LastAttempt bool               // of several tests of one name in a report, or in reports of the same tests, the last one counts

	Counts   Counts
	Failures []Failure // the first 1,000; new ones first once they were compared
	Flaky    []string  // names of the first 20 flaky tests
	Problems []string  // sentences about reports that could not be read as a whole
	Log      Log       // every test

	// outcomes by the hash of the name, because 200,000 names would need too much memory.
	outcomes map[nameHash]outcome
	sameName map[nameHash]int  // how many tests have the name, if more than one
	failed   map[nameHash]bool // names of failed tests, without numbers; only of a run that repeats some
	digests  map[[sha256.Size]byte]bool
	matched  []int32 // how many tests that ran each Quarantine names
	attempts []found // not counted yet
}

// found is small, because a report of 200,000 tests has as many before its end shows whether it is a copy.
type found struct {
	hash         nameHash
	identity     nameHash // see testCase
	failure      *Failure // of the first failed tests
	flaky        string   // name of one of the first flaky tests
	milliseconds int32
	rule         int32 // index of the Quarantine that names it; -1: none does
	retried      int32 // attempts at it that failed before
	index        int32 // among the attempts; see lastAttempts
	outcome      outcome
	outside      bool // it is a failure of a suite
}

// Add reads a file, and reports whether it is a JUnit report. A broken report counts up to where it breaks off, a copy not at all.
func (t *Tests) Add(path string, r io.Reader) bool {
	isReport := t.AddAttempt(path, r)
	t.EndAttempts()
	return isReport
}

// AddAttempt is like Add for a report that others of the same tests may follow. Call EndAttempts after the last of them.
func (t *Tests) AddAttempt(path string, r io.Reader) bool {
	digest := sha256.New()
	report := junit.NewReader(io.TeeReader(r, digest), junit.MaxTests-int(t.Counts.Tests)-len(t.attempts), maxText)
	before := len(t.attempts)
	named, flakes := len(t.Failures), len(t.Flaky)
	for _, f := range t.attempts {
		if f.failure != nil {
			named++
		}
	}
	t.Log.begin()
	err := parse(report, t.Secrets, func(test testCase) {
		f := found{hash: hashOf(test.name), identity: test.identity, outcome: test.outcome, outside: test.outside, rule: t.ruleOf(&test),
			milliseconds: int32(test.milliseconds)}
		if test.outcome == failed {
			t.markQuarantine(&test.failure, f.rule)
		}
		if test.outcome == failed && named < maxFailures {
			failure := test.failure
			failure.locate(path)
			f.failure, named = &failure, named+1
		}
		if test.outcome == flaky && flakes < maxFlaky {
			f.flaky, flakes = test.name, flakes+1
		}
		t.attempts = append(t.attempts, f)
		t.Log.add(&test)
	})
	tests := len(t.attempts) - before
	switch {
	case errors.Is(err, junit.ErrEmpty): // an empty report, or something else
		t.unreadable(path, 0, err)
		return false
	case errors.Is(err, junit.ErrNoReport):
		return false
	}
	if t.isCopy([sha256.Size]byte(digest.Sum(nil))) {
		t.Log.discard()
		t.attempts = t.attempts[:before]
		return true
	}
	t.Log.end()
	t.Counts.Reports++
	if err != nil {
		t.unreadable(path, tests, err)
	}
	return true
}

// EndAttempts counts the tests that were added since the last call.
func (t *Tests) EndAttempts() {
	tests := t.attempts
	if t.LastAttempt {
		if tests = lastAttempts(tests); len(tests) < len(t.attempts) {
			t.Log.keep(tests)
		}
	}
	t.Log.settle()
	t.attempts = nil
	t.count(tests)
	for _, f := range tests {
		t.Counts.Milliseconds = min(t.Counts.Milliseconds+int64(f.milliseconds), maxMilliseconds)
	}
}

func (t *Tests) unreadable(path string, tests int, err error) {
	t.Counts.Unread++
	t.Problems = append(t.Problems, junit.Problem(path, tests, err))
}

func (t *Tests) isCopy(digest [sha256.Size]byte) bool {
	if t.digests == nil {
		t.digests = map[[sha256.Size]byte]bool{}
	}
	known := t.digests[digest]
	t.digests[digest] = true
	return known
}

// count numbers tests with the same name, such as the cases of a table, so that they do not count as attempts at one test.
func (t *Tests) count(tests []found) {
	if t.outcomes == nil {
		t.outcomes, t.sameName, t.failed = map[nameHash]outcome{}, map[nameHash]int{}, map[nameHash]bool{}
	}
	for _, f := range tests {
		number := t.numberOf(f.hash)
		t.outcomes[f.hash.and(number)] = f.outcome
		if f.outcome == failed && t.Rerun != "" {
			t.failed[f.hash] = true
		}
		if f.failure != nil && len(t.Failures) < maxFailures {
			f.failure.Name += number
			t.Failures = append(t.Failures, *f.failure)
		}
		if f.flaky != "" && len(t.Flaky) < maxFlaky {
			t.Flaky = append(t.Flaky, f.flaky+number)
		}
		t.Counts.add(f.outcome)
		if f.outside {
			t.Counts.Outside++
		}
		t.countQuarantined(f.rule, f.outcome)
	}
	slices.SortStableFunc(t.Failures, func(a, b Failure) int { return newFirst(a.TestFailure, b.TestFailure) })
}

// numberOf returns "" for the first test of a name. Another test may have the name and the number in its own name.
func (t *Tests) numberOf(name nameHash) (number string) {
	for {
		if _, exists := t.outcomes[name.and(number)]; !exists {
			return number
		}
		t.sameName[name]++
		number = fmt.Sprintf(" (%d)", t.sameName[name]+1)
	}
}

func (c *Counts) add(o outcome) {
	c.Tests++
	switch o {
	case failed:
		c.Failed++
	case skipped:
		c.Skipped++
	case flaky:
		c.Flaky++
		c.Passed++
	default:
		c.Passed++
	}
}

// nameHash is the FNV-1a hash of a name, which can be continued.
type nameHash uint64

func hashOf(name string) nameHash { return nameHash(14695981039346656037).and(name) }

func (h nameHash) and(text string) nameHash {
	for i := range len(text) {
		h = (h ^ nameHash(text[i])) * 1099511628211
	}
	return h
}

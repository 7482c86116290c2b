package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Counts of tests.
type Counts struct {
	Reports      int32 `json:"reports"` // files that were read; 0: nothing is known of the tests
	Unread       int32 `json:"unread"`  // reports, or files that may be, that could not be read whole
	Tests        int32 `json:"tests"`   // the sum of passed, failed and skipped
	Passed       int32 `json:"passed"`  // flaky ones included
	Failed       int32 `json:"failed"`
	Skipped      int32 `json:"skipped"`
	Flaky        int32 `json:"flaky"`
	Outside      int32 `json:"outside,omitempty"` // failures of suites, outside of tests; failed counts them, too
	Milliseconds int64 `json:"milliseconds"`      // of all tests together

	Quarantined    int32 `json:"quarantined,omitempty"`    // failed tests that a valid Quarantine names; failed counts them, too
	QuarantinedRan int32 `json:"quarantinedRan,omitempty"` // tests that ran and that a valid Quarantine names

	ComparedWith string `json:"comparedWith,omitempty"` // the id of a run; without it the next three are 0

	NewFailures   int32 `json:"newFailures"`
	KnownFailures int32 `json:"knownFailures"`
	Fixed         int32 `json:"fixed"`
}

// Summary holds what is known of the tests and files of a pod, or of all pods of a run.
type Summary struct {
	Counts
	Silent   []string               `json:"-"`                 // names of the pods that did not fail and have no report
	Files    int32                  `json:"files"`             // that were uploaded
	Bytes    int64                  `json:"bytes"`             // of these files
	Unkept   int32                  `json:"unkept"`            // files that should have been uploaded, and were not
	Problem  string                 `json:"problem,omitempty"` // sentences: which files and reports were lost, and why; empty: none
	Failures []v1alpha1.TestFailure `json:"-"`                 // new ones first; of a termination message only the first

	Quarantines []v1alpha1.AppliedQuarantine `json:"-"` // of the whole run; nil: it applies none

	FlakyTests  []string `json:"-"` // the names of some
	PassedTests NameSet  `json:"-"`
	FailedTests NameSet  `json:"-"`

	NamesDigest string `json:"namesDigest,omitempty"` // of the names of all tests that ran; "": unknown

	// Matched is how many tests that ran each Quarantine of the run names, in their order.
	Matched []int32 `json:"matched,omitempty"`

	RerunPassed NameSet `json:"-"` // tests that the run was to repeat, and that passed and did not fail; "" for runs that repeat none

	Unrecovered int32 `json:"-"` // failed tests of earlier attempts, which no later one shows to pass
	Older       bool  `json:"-"` // a collector of an earlier version wrote it, which does not count unread reports
}

// Status returns the summary for the status of a Suite, or nil if no report was read.
func Status(s Summary) *v1alpha1.TestResults {
	if s.Reports == 0 {
		return nil
	}
	failures, room := first(s.Failures)
	return &v1alpha1.TestResults{
		Tests: s.Tests, Passed: s.Passed, Failed: s.Failed, Skipped: s.Skipped, Flaky: s.Flaky,
		Duration:     &metav1.Duration{Duration: time.Duration(min(s.Milliseconds, maxMilliseconds)) * time.Millisecond},
		ComparedWith: s.ComparedWith, NewFailures: s.NewFailures, KnownFailures: s.KnownFailures, Fixed: s.Fixed,
		Quarantined: s.Quarantined, Quarantines: s.Quarantines, Failures: failures, FlakyTests: firstNames(s.FlakyTests, room),
	}
}

func first(all []v1alpha1.TestFailure) (some []v1alpha1.TestFailure, room int) {
	room = maxStatusBytes
	for _, f := range all[:min(len(all), maxStatusFailures)] {
		size := len(f.Name) + len(f.File) + len(f.Message)
		if size > room {
			break
		}
		room -= size
		some = append(some, f)
	}
	return some, room
}

func firstNames(all []string, room int) (some []string) {
	for _, name := range all[:min(len(all), maxStatusFlaky)] {
		if room -= len(name); room < 0 {
			break
		}
		some = append(some, name)
	}
	return some
}

// clean makes an untrusted summary safe: values are in bounds, and counts agree with each other.
func clean(s Summary) Summary {
	for _, count := range []*int32{
		&s.Reports, &s.Unread, &s.Passed, &s.Failed, &s.Skipped, &s.Flaky, &s.Outside, &s.Quarantined, &s.QuarantinedRan,
		&s.NewFailures, &s.KnownFailures, &s.Fixed, &s.Files, &s.Unkept,
	} {
		*count = min(max(*count, 0), maxCount)
	}
	s.Tests = s.Passed + s.Failed + s.Skipped
	s.Flaky, s.Outside = min(s.Flaky, s.Passed), min(s.Outside, s.Failed)
	s.Quarantined = min(s.Quarantined, s.Failed-s.Outside)
	s.QuarantinedRan = min(max(s.QuarantinedRan, s.Quarantined), s.Quarantined+s.Passed)
	s.Matched = slices.Clone(s.Matched[:min(len(s.Matched), maxQuarantines)])
	for i, n := range s.Matched {
		s.Matched[i] = min(max(n, 0), maxCount)
	}
	s.Milliseconds = min(max(s.Milliseconds, 0), maxMilliseconds)
	s.Bytes = min(max(s.Bytes, 0), maxBytes)
	s.Problem = plaintext.Line(s.Problem, maxProblem)
	if s.ComparedWith = plaintext.Line(s.ComparedWith, maxRun); s.ComparedWith == "" {
		s.NewFailures, s.KnownFailures, s.Fixed = 0, 0, 0
	}
	s.NewFailures = min(s.NewFailures, s.Failed)
	s.KnownFailures = min(s.KnownFailures, s.Failed-s.NewFailures)
	s.Failures = append([]v1alpha1.TestFailure(nil), s.Failures[:min(len(s.Failures), int(s.Failed))]...)
	for i, f := range s.Failures {
		s.Failures[i] = cleanFailure(f)
	}
	s.FlakyTests = append([]string(nil), s.FlakyTests[:min(len(s.FlakyTests), maxFlaky, int(s.Flaky))]...)
	for i, name := range s.FlakyTests {
		s.FlakyTests[i] = cmp.Or(plaintext.Line(name, maxName), junit.Unnamed)
	}
	s.PassedTests, s.FailedTests = s.PassedTests.known(s.Passed), s.FailedTests.known(s.Failed)
	if len(s.NamesDigest) != digestBytes {
		s.NamesDigest = ""
	}
	s.RerunPassed = rerunPassed(s.RerunPassed, s.Passed)
	return s
}

// Join joins sentences into the problem of a summary, and counts those that do not fit.
func Join(sentences []string) string {
	text := ""
	for i, sentence := range sentences {
		longer := strings.TrimSpace(text + " " + plaintext.Line(sentence, maxProblem/2))
		if len(longer) > maxProblem-len(" More problems: 10000.") {
			return fmt.Sprintf("%s More problems: %d.", text, len(sentences)-i)
		}
		text = longer
	}
	return text
}

func cleanFailure(f v1alpha1.TestFailure) v1alpha1.TestFailure {
	f.Name = cmp.Or(plaintext.Line(f.Name, maxName), junit.Unnamed)
	f.File = plaintext.Line(f.File, maxFile)
	f.Quarantine, f.ExpiredQuarantine = plaintext.Line(f.Quarantine, maxQuarantine), plaintext.Line(f.ExpiredQuarantine, maxQuarantine)
	f.Line = max(f.Line, 0)
	first, _, _ := strings.Cut(strings.TrimSpace(f.Message), "\n")
	f.Message = plaintext.Line(first, maxMessage)
	if f.History != v1alpha1.FailureNew && f.History != v1alpha1.FailureKnown {
		f.History = ""
	}
	return f
}

// newFirst orders failures that count before quarantined ones, and new ones before others.
func newFirst(a, b v1alpha1.TestFailure) int {
	rank := func(f v1alpha1.TestFailure) (rank int) {
		if f.Quarantine != "" {
			rank = 2
		}
		if f.History != v1alpha1.FailureNew {
			rank++
		}
		return rank
	}
	return rank(a) - rank(b)
}

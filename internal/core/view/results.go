package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// Tests are the results of a run's tests.
type Tests struct {
	Total, Passed, Failed, Skipped, Flaky, Fixed int32

	Quarantined int32 // of the failed ones
	Expected    int32 // ran in the last comparable run that passed, if far fewer did in this one; else 0

	Failures   []Failure // new ones first
	More       int32     // that failed and are not among Failures
	FlakyTests []string  // names of the first
	MoreFlaky  int32
	Repeat     string // a command that runs only the failed tests again; empty if it cannot

	PassedPercent, FailedPercent float64
}

// Failure is a test that failed.
type Failure struct {
	Name     string
	Location string // file:line
	Message  string
	New      bool
	Known    bool

	Quarantine string // the name of the Quarantine for which it does not count
	Expired    string // the name of an expired one for which it counts again

	Since *FailingSince // nil: unknown
	Flaky string        // how often; empty: never, or unknown

	Text  string // what the report says; empty: no more than the message, or it is not known
	Cut   bool   // the rest of the text is missing, or all of it
	Files []AttachedFile
}

// AttachedFile is a file that the report names for a test.
type AttachedFile struct{ Path, Size, Link string }

// TestsOf returns nil for a run without results.
func TestsOf(s *v1alpha1.Suite) *Tests {
	r := s.Status.Results
	if r == nil {
		return nil
	}
	t := &Tests{Total: r.Tests, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped, Flaky: r.Flaky, Fixed: r.Fixed,
		Quarantined: r.Quarantined, Expected: r.Expected}
	if r.Tests > 0 {
		t.PassedPercent = 100 * float64(r.Passed) / float64(r.Tests)
		t.FailedPercent = 100 * float64(r.Failed) / float64(r.Tests)
	}
	for _, history := range []v1alpha1.FailureHistory{v1alpha1.FailureNew, "", v1alpha1.FailureKnown} {
		for _, f := range r.Failures {
			if f.History == history {
				t.Failures = append(t.Failures, failureOf(f))
			}
		}
	}
	slices.SortStableFunc(t.Failures, func(a, b Failure) int { return min(len(a.Quarantine), 1) - min(len(b.Quarantine), 1) })
	t.More = max(0, r.Failed-int32(len(t.Failures)))
	t.setFlaky(r.FlakyTests)
	return t
}

func (t *Tests) setFlaky(names []string) {
	t.FlakyTests, t.MoreFlaky = names, max(0, t.Flaky-int32(len(names)))
}

// Explain adds what the documents of pods say about the failures.
func (t *Tests) Explain(e results.Explanation, fileOf func(pod string, f results.File) AttachedFile) {
	t.setFlaky(e.Flaky)
	for _, known := range e.Failures {
		i := slices.IndexFunc(t.Failures, func(f Failure) bool { return f.Name == known.Name && f.Text == "" })
		if i < 0 {
			continue
		}
		f := failureOf(known.TestFailure)
		f.Text, f.Cut = known.Text, known.TextCut
		if rest, found := strings.CutPrefix(f.Text, f.Message+"\n"); found { // the page says the message once
			f.Text = strings.TrimLeft(rest, "\n")
		}
		for _, file := range known.Files {
			f.Files = append(f.Files, fileOf(known.Pod, file))
		}
		t.Failures[i] = f
	}
}

func failureOf(f v1alpha1.TestFailure) Failure {
	location := f.File
	if f.File != "" && f.Line > 0 {
		location = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return Failure{
		Name: f.Name, Location: location, Message: f.Message,
		New: f.History == v1alpha1.FailureNew, Known: f.History == v1alpha1.FailureKnown,
		Quarantine: f.Quarantine, Expired: f.ExpiredQuarantine,
	}
}

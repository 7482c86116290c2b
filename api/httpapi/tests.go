package httpapi

import "time"

// The states of a test in a run.
const (
	TestPassed  = "Passed"
	TestFlaky   = "Flaky" // it failed, was repeated, and passed
	TestFailed  = "Failed"
	TestSkipped = "Skipped"
)

// Test is one test of one run, as the record of the run keeps it.
type Test struct {
	Name         string `json:"name"` // class or file, and its own; numbered if several have it
	Suite        string `json:"suite,omitempty"`
	File         string `json:"file,omitempty"`
	Line         int32  `json:"line,omitempty"`
	State        string `json:"state"`
	Milliseconds int64  `json:"milliseconds"`
	Retries      int32  `json:"retries,omitempty"` // attempts before the last one, which counts
	Message      string `json:"message,omitempty"` // why it failed, in a line
	Text         string `json:"text,omitempty"`    // of the failure in the report: its first 4 KiB
	Quarantined  bool   `json:"quarantined,omitempty"`
}

// Place is where tests run: a Trigger and an Environment.
type Place struct {
	Namespace   string `json:"namespace"`
	Trigger     string `json:"trigger"`
	Environment string `json:"environment"`
}

// TestRun is a run that a test was in, or the run of a figure.
type TestRun struct {
	ID string `json:"id"`
	Place
	Repository   string    `json:"repository,omitempty"`
	Service      string    `json:"service,omitempty"` // of the repository
	SHA          string    `json:"sha,omitempty"`
	Branch       string    `json:"branch,omitempty"`
	CreatedAt    time.Time `json:"createdAt"`
	State        string    `json:"state"` // of the test
	Milliseconds int64     `json:"milliseconds"`
	Message      string    `json:"message,omitempty"`
	URL          string    `json:"url,omitempty"` // of the run's page
}

// TestList is a page of tests over a number of days.
type TestList struct {
	Days  int         `json:"days"`
	Tests []TestStats `json:"tests"`
	Next  string      `json:"next,omitempty"` // cursor of the next page; absent on the last

	// Problem is a sentence: why days are missing.
	Problem string `json:"problem,omitempty"`
}

// TestStats are figures of one test in one place.
type TestStats struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Place
	Runs               int        `json:"runs"`   // of the place that ran all tests and reported them, each once with its reruns
	Failed             int        `json:"failed"` // of these
	Flaky              int        `json:"flaky"`  // of these: it failed, and passed when its runner or a rerun repeated it
	MedianMilliseconds int64      `json:"medianMilliseconds"`
	LastFailedAt       *time.Time `json:"lastFailedAt,omitempty"`
	FailsSince         *time.Time `json:"failsSince,omitempty"` // the run that began a row of failures, up to the last run
	Outcomes           string     `json:"outcomes"`             // of its last 24 runs: p, f(ailed), r(etried and passed), s(kipped), - not listed
}

// TestHistory is what is known of one test.
type TestHistory struct {
	Name   string        `json:"name"`
	Suite  string        `json:"suite,omitempty"`
	File   string        `json:"file,omitempty"`
	Line   int32         `json:"line,omitempty"`
	Days   int           `json:"days"`
	Places []TestInPlace `json:"places"` // that it was in, the ones it fails in first

	// Problem is a sentence: why runs are missing.
	Problem string `json:"problem,omitempty"`
}

// TestInPlace is a test in one Trigger and Environment.
type TestInPlace struct {
	Place
	Runs               int       `json:"runs"` // as of TestStats; the test may be missing in some
	Passed             int       `json:"passed"`
	Failed             int       `json:"failed"`
	Flaky              int       `json:"flaky"`
	Skipped            int       `json:"skipped"`
	Flips              int       `json:"flips"` // how often it changed from passed to failed, or back
	MedianMilliseconds int64     `json:"medianMilliseconds"`
	Last               []TestRun `json:"last"` // the last 60, newest first

	// Commits are those that the test passed or failed on, in runs that ended as Passed or Failed. Each counts once, with all its runs and
	// reruns. A run whose commit is not known counts for none.
	Commits       int `json:"commits"`
	FailedCommits int `json:"failedCommits"` // of these: it failed in a run, and perhaps passed in another
	FlakyCommits  int `json:"flakyCommits"`  // of these: it failed and passed, in two runs, or in one whose runner repeated it

	// Quarantine names it in this place, and may have expired; absent: none does.
	Quarantine *TestQuarantine `json:"quarantine,omitempty"`

	// Failing is set if the test failed in the last run that did not skip it.
	Failing *FailingSince `json:"failing,omitempty"`

	Failures []FailureText `json:"failures,omitempty"` // what it said, the most recent first: at most 5 that differ
}

// TestQuarantine is the Quarantine that a run would apply to a test now.
type TestQuarantine struct {
	Name    string `json:"name"`
	Until   string `json:"until"` // the day on which its tests count again, in UTC
	Expired bool   `json:"expired,omitempty"`
}

// FailingSince is when a test began to fail.
type FailingSince struct {
	First  TestRun  `json:"first"`            // the first run of the row of failures
	Before *TestRun `json:"before,omitempty"` // the last run in which it passed; absent: it is not known to have passed
	Runs   int      `json:"runs"`             // in a row
	// CompareURL compares the two commits, if the repository is known.
	CompareURL string `json:"compareUrl,omitempty"`
}

// FailureText is what a test says when it fails.
type FailureText struct {
	Message string    `json:"message"`
	Text    string    `json:"text,omitempty"`
	Times   int       `json:"times"`
	FirstAt time.Time `json:"firstAt"`
	LastAt  time.Time `json:"lastAt"`
	LastRun string    `json:"lastRun"` // the id of a run
}

// Insights are figures of a team, of a Trigger or of an Environment, over a number of days.
type Insights struct {
	Days   int             `json:"days"`
	Period InsightsPeriod  `json:"period"`
	Before *InsightsPeriod `json:"before,omitempty"` // as many days before; absent if nothing is known of them
	Daily  []InsightsDay   `json:"daily"`            // each day, the oldest first
	Ends   []InsightsEnd   `json:"ends"`             // why runs ended, the most frequent first
	Places []Place         `json:"places"`           // in which there were runs

	LeastReliable []TestStats `json:"leastReliable"` // at most 10
	Slowest       []SlowTest  `json:"slowest"`       // at most 10

	// Problem is a sentence: why days are missing.
	Problem string `json:"problem,omitempty"`
}

// InsightsPeriod sums up days.
type InsightsPeriod struct {
	From string `json:"from"` // a day, such as 2026-11-21, in UTC
	To   string `json:"to"`   // the last day

	Runs        int `json:"runs"`   // that ended, however, each once with its reruns, retries and repetitions of the same day
	Passed      int `json:"passed"` // with quarantined failures included
	Failed      int `json:"failed"`
	TimedOut    int `json:"timedOut"`
	Error       int `json:"error"`
	NoVerdict   int `json:"noVerdict"`   // Canceled, Superseded and Inconclusive
	Quarantined int `json:"quarantined"` // of those that passed: with failures of quarantined tests
	Repeated    int `json:"repeated"`    // of those that passed: only in a rerun, a retry or a repetition

	// PassRate is passed by passed, failed, timedOut and error, from 0 to 1; absent without such runs.
	PassRate *float64 `json:"passRate,omitempty"`

	Duration Quantiles `json:"duration"` // of the Jobs of runs that passed or failed and ran all tests
	Verdict  Quantiles `json:"verdict"`  // from the notification to a state of PassRate, with retries and repetitions, without reruns
	Queue    Quantiles `json:"queue"`    // from the notification to the start of the runs of Duration
}

// Quantiles are in seconds.
type Quantiles struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
}

// InsightsDay is a day in UTC.
type InsightsDay struct {
	Day       string    `json:"day"`
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	TimedOut  int       `json:"timedOut"`
	Error     int       `json:"error"`
	NoVerdict int       `json:"noVerdict"`
	Duration  Quantiles `json:"duration"`
}

// InsightsEnd is a way in which runs ended.
type InsightsEnd struct {
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // of the condition Succeeded; absent where the state says it all
	Runs   int    `json:"runs"`
}

// SlowTest is a test that takes long.
type SlowTest struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Place
	MedianMilliseconds int64    `json:"medianMilliseconds"`
	Change             *float64 `json:"change,omitempty"` // against the days before, such as 0.12; absent if unknown
}

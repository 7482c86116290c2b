package httpapi

import "time"

// Failure says why a run ended as it did, and what to do: the most telling facts first, at most 16 KiB of JSON. A run that passed, or has
// not ended, has one, too. Names, messages, texts and lines of logs were written by tests and deployed programs: they are data.
type Failure struct {
	Run     string   `json:"run"`
	State   string   `json:"state"`
	Green   bool     `json:"green"`
	Summary string   `json:"summary"` // sentences: what happened
	Next    []string `json:"next"`    // sentences: what to do, the most promising first

	Tested  Tested        `json:"tested"`
	Changed *Changed      `json:"changed,omitempty"` // since the last green run; absent: no such run is known
	Tests   *FailureTests `json:"tests,omitempty"`   // absent: the run has no results
	Cluster []string      `json:"cluster,omitempty"` // sentences: what the cluster did to the run
	Log     *LogExcerpt   `json:"log,omitempty"`     // the lines around the failure

	// Omitted says in sentences what was left out, and how to get it.
	Omitted []string `json:"omitted,omitempty"`
	URL     string   `json:"url,omitempty"` // of the run's page
}

// Tested is what a run tested.
type Tested struct {
	Team        string     `json:"team"`
	Namespace   string     `json:"namespace"`
	Trigger     string     `json:"trigger"`
	Environment string     `json:"environment"`
	Service     string     `json:"service,omitempty"`
	Repository  string     `json:"repository,omitempty"`
	SHA         string     `json:"sha,omitempty"`
	Branch      string     `json:"branch,omitempty"`
	URL         string     `json:"url,omitempty"`       // of the deployment
	CommitURL   string     `json:"commitUrl,omitempty"` // on the code host
	Message     string     `json:"message,omitempty"`   // of the commit, its first line
	Author      string     `json:"author,omitempty"`    // of the commit
	Origin      string     `json:"origin,omitempty"`    // who asked for the run
	EndedAt     *time.Time `json:"endedAt,omitempty"`

	UnderTest *UnderTest `json:"underTest,omitempty"` // the workloads, if the Environment names any
}

// Changed is what was deployed to the Environment since the last green run of the same Trigger, Environment and service.
type Changed struct {
	Run        string             `json:"run"`           // that was green
	SHA        string             `json:"sha,omitempty"` // that it tested
	EndedAt    time.Time          `json:"endedAt"`
	CompareURL string             `json:"compareUrl,omitempty"` // compares its commit with the commit of this run
	Parts      []ChangedComponent `json:"parts,omitempty"`      // what differs, the newest first; empty: nothing that is known
}

// ChangedComponent is a repository, or a service of it, that the Environment had another commit of.
type ChangedComponent struct {
	Repository string    `json:"repository,omitempty"`
	Service    string    `json:"service,omitempty"`
	From       string    `json:"from,omitempty"` // the commit that the green run had; empty: unknown
	To         string    `json:"to"`
	At         time.Time `json:"at"` // when it was deployed
	CompareURL string    `json:"compareUrl,omitempty"`
}

// FailureTests are the tests of a run that failed.
type FailureTests struct {
	Tests       int32        `json:"tests"`
	Failed      int32        `json:"failed"`
	NewFailures int32        `json:"newFailures"`
	Failures    []FailedTest `json:"failures,omitempty"` // first those that count, new ones before known ones
}

// FailedTest is a test that failed in a run, with what is known of it. It has no attachments: their URLs are secrets.
type FailedTest struct {
	TestFailure

	Files  []TestFile    `json:"files,omitempty"`  // that the report names for the test; see the page of the run
	Since  *FailingSince `json:"since,omitempty"`  // the first run in which it failed, and its commit; absent: unknown
	Runs   int           `json:"runs,omitempty"`   // in which it is known to have run lately
	Flaky  int           `json:"flaky,omitempty"`  // of these: it failed, and passed when it was repeated
	Repeat string        `json:"repeat,omitempty"` // a command that runs only the failed tests again
}

// TestFile is a file that a test left behind.
type TestFile struct {
	Path  string `json:"path"`
	Pod   string `json:"pod"`
	Bytes int64  `json:"bytes"`
}

// LogExcerpt is a part of a log.
type LogExcerpt struct {
	Pod       string   `json:"pod"`
	Container string   `json:"container"`
	FirstLine int      `json:"firstLine"`       // its number, from 1
	Match     int      `json:"match,omitempty"` // the number of the line that has the failure; absent: these are the last lines
	Lines     []string `json:"lines"`
}

package httpapi

import "time"

// Run is a run: of the cluster, or of the archive once its Suite was deleted. It is also the beginning of each
// record in the archive.
type Run struct {
	ID          string `json:"id"`
	Team        string `json:"team"`
	Namespace   string `json:"namespace"`
	Trigger     string `json:"trigger"`
	Environment string `json:"environment"`

	State   string `json:"state"` // Queued, Starting, Running, Passed, Failed, TimedOut, Inconclusive, Canceled, Superseded or Error
	Message string `json:"message,omitempty"`

	Branch            string `json:"branch,omitempty"`
	SHA               string `json:"sha,omitempty"`
	DeploymentType    string `json:"deploymentType,omitempty"`
	DeploymentURL     string `json:"deploymentUrl,omitempty"`
	CommitURL         string `json:"commitUrl,omitempty"`
	CommitMessage     string `json:"commitMessage,omitempty"` // its first line
	CommitAuthor      string `json:"commitAuthor,omitempty"`
	Repository        string `json:"repository,omitempty"`
	Service           string `json:"service,omitempty"`
	PullRequestNumber int64  `json:"pullRequestNumber,omitempty"`

	Attempt      int32  `json:"attempt"`
	SupersededBy string `json:"supersededBy,omitempty"` // the id of a run
	RepeatedBy   string `json:"repeatedBy,omitempty"`   // the id of the run that repeats this one, which has no result
	Repeats      string `json:"repeats,omitempty"`      // the id of the run without a result that this one repeats
	Retries      int32  `json:"retries,omitempty"`      // how many of the runs that it repeats ended as Error, one after the other
	OnlyFailedOf string `json:"onlyFailedOf,omitempty"` // the id of the run whose failed tests this one repeats, and only these

	Origin       string     `json:"origin,omitempty"`       // who asked for the run, as in spec.origin of a Suite; old records lack it
	ScheduledFor *time.Time `json:"scheduledFor,omitempty"` // the time of the Trigger's schedule that started it; absent: no schedule did

	CreatedAt       time.Time  `json:"createdAt"`
	ReceivedAt      *time.Time `json:"receivedAt,omitempty"`
	StartedAt       *time.Time `json:"startedAt,omitempty"`
	EndedAt         *time.Time `json:"endedAt,omitempty"`
	DurationSeconds float64    `json:"durationSeconds,omitempty"` // from startedAt to endedAt

	PodsKeptUntil *time.Time `json:"podsKeptUntil,omitempty"` // of a run that failed, where its Trigger has keepFailedPods

	// DecidedBy is what decided how the run ended: Tests, Report or ExitCode if it passed or failed, and one of the constants
	// below for other ends. Runs that have not ended, and those that passed or failed before Postflight recorded it, lack it.
	DecidedBy string `json:"decidedBy,omitempty"`

	Results   *TestResults `json:"results,omitempty"`
	Artifacts *Artifacts   `json:"artifacts,omitempty"`

	// UnderTest is what the Environment had while the tests ran, if it names workloads.
	UnderTest *UnderTest `json:"underTest,omitempty"`

	// ResultsProblem says, in sentences, which reports and files of the tests were lost, and why. Empty: none, or the run has not ended.
	ResultsProblem string `json:"resultsProblem,omitempty"`

	// Archive is absent where no store is configured, and until the run has ended.
	Archive *ArchiveState `json:"archive,omitempty"`

	URL string `json:"url,omitempty"` // of the run's page; records lack it
}

// What decides an end other than Passed and Failed.
const (
	DecidedByTimeout      = "Timeout"
	DecidedByCancellation = "Cancellation"
	DecidedBySupersession = "Supersession" // a newer deployment of its stream
	DecidedByError        = "Error"        // the tests could not be run or judged
	DecidedByChange       = "Change"       // of what was under test, while the tests ran
)

// TestResults count the tests of a run.
type TestResults struct {
	Tests           int32         `json:"tests"`
	Passed          int32         `json:"passed"`
	Failed          int32         `json:"failed"`
	Skipped         int32         `json:"skipped"`
	Flaky           int32         `json:"flaky"`
	TestsExpected   int32         `json:"testsExpected,omitempty"` // that ran in the last comparable run that passed, if far fewer did here
	DurationSeconds float64       `json:"durationSeconds"`
	ComparedWith    string        `json:"comparedWith,omitempty"` // the id of a run; without it the next three mean nothing
	NewFailures     int32         `json:"newFailures"`
	KnownFailures   int32         `json:"knownFailures"`
	Fixed           int32         `json:"fixed"`
	Quarantined     int32         `json:"quarantined,omitempty"` // failed tests that a Quarantine names; failed counts them, too
	Failures        []TestFailure `json:"failures,omitempty"`    // the first 20: those that count first, and of these new ones
	FlakyTests      []string      `json:"flakyTests,omitempty"`  // names of the first 5; of RunResults, the first 20

	Quarantines []AppliedQuarantine `json:"quarantines,omitempty"` // that the run applied, or that had expired
}

// AppliedQuarantine is a Quarantine as a run found it.
type AppliedQuarantine struct {
	Name    string `json:"name"`
	Until   string `json:"until"`             // day on which its tests count again, in UTC
	Expired bool   `json:"expired,omitempty"` // its tests counted in this run
	Tests   int32  `json:"tests"`             // that ran and that it names
}

// TestFailure is a test that failed.
type TestFailure struct {
	Name    string `json:"name"`
	File    string `json:"file,omitempty"`
	Line    int32  `json:"line,omitempty"`
	Message string `json:"message,omitempty"`
	History string `json:"history,omitempty"` // New or Known; absent if that is unknown

	Quarantine        string `json:"quarantine,omitempty"`        // that names the test, whose failure does not fail the run
	ExpiredQuarantine string `json:"expiredQuarantine,omitempty"` // that names the test; its failure counts again

	// Only RunResults have these.
	Text        string     `json:"text,omitempty"`        // of the failure in the report: its first 4 KiB
	TextCut     bool       `json:"textCut,omitempty"`     // the rest of the text is missing, or all of it
	Attachments []Artifact `json:"attachments,omitempty"` // files that the report names for the test
}

// RunResults are the tests of a run, with what their reports say of each failure.
type RunResults struct {
	Run     string       `json:"run"`
	State   string       `json:"state"`
	Results *TestResults `json:"results,omitempty"`
	Problem string       `json:"problem,omitempty"` // sentences: why texts and attachments are missing, or all results
}

// Artifacts are the files that the tests of a run wrote.
type Artifacts struct {
	Count  int32  `json:"count"`
	Bytes  int64  `json:"bytes"`
	Prefix string `json:"prefix"` // of their keys in the bucket
}

// ArchiveState says whether a run outlives its Suite.
type ArchiveState struct {
	Done    bool   `json:"done"`
	Message string `json:"message,omitempty"` // names logs that could not be saved
}

// Runs is a page of runs, newest first.
type Runs struct {
	Runs []Run  `json:"runs"`
	Next string `json:"next,omitempty"` // cursor of the next page; absent on the last

	// ArchiveProblem is a sentence: why archived runs are missing from this page.
	ArchiveProblem string `json:"archiveProblem,omitempty"`
}

// Artifact is one file.
type Artifact struct {
	Path  string `json:"path"`          // as the tests wrote it, below the results directory
	Pod   string `json:"pod,omitempty"` // that wrote it
	Bytes int64  `json:"bytes"`
	URL   string `json:"url"` // to GET the file from; a secret while it is valid
}

// ArtifactList is a page of artifacts, ordered by pod and path.
type ArtifactList struct {
	Artifacts []Artifact `json:"artifacts"`
	Next      string     `json:"next,omitempty"`
}

// Termination names an ephemeral environment that is gone, by one of the members.
type Termination struct {
	DeploymentURL    string `json:"deploymentUrl,omitempty"`
	EnvironmentID    string `json:"environmentId,omitempty"`    // UID
	EnvironmentAlias string `json:"environmentAlias,omitempty"` // name
}

// TerminationResult answers a Termination.
type TerminationResult struct {
	EnvironmentID string       `json:"environmentId"` // of the first result
	Results       []Terminated `json:"results"`       // ordered by name
}

// Terminated is an Environment that is being deleted.
type Terminated struct {
	EnvironmentID    string   `json:"environmentId"`
	EnvironmentAlias string   `json:"environmentAlias"`
	Code             string   `json:"code"` // "terminated"
	Runs             []string `json:"runs"` // that are being canceled, at most 100 of them
}

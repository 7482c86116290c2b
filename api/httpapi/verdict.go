package httpapi

import "time"

// Verdict says whether a commit may leave an Environment: whether the runs that are required have passed there, and are recent enough.
type Verdict struct {
	State    string `json:"state"`            // passed, failed, running, none, stale or withdrawn
	Passed   bool   `json:"passed"`           // whether the state is passed
	Sentence string `json:"sentence"`         // why
	Advice   string `json:"advice,omitempty"` // what to do, unless it has passed

	Team        string `json:"team"`
	Environment string `json:"environment"`
	Repository  string `json:"repository,omitempty"`
	Service     string `json:"service,omitempty"`
	SHA         string `json:"sha"`
	Branch      string `json:"branch,omitempty"`
	URL         string `json:"url"` // of its page

	CheckedAt time.Time  `json:"checkedAt"`
	Since     *time.Time `json:"since,omitempty"`     // when the last of the required runs passed, without a failure since
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // when it becomes stale
	OpensAt   *time.Time `json:"opensAt,omitempty"`   // when minAge is over, if the state is running for that alone

	DeployedAt   *time.Time `json:"deployedAt,omitempty"`   // when the commit last came to the Environment, as far as is known
	ReplacedBy   string     `json:"replacedBy,omitempty"`   // the commit that replaced it there
	ReplacedAt   *time.Time `json:"replacedAt,omitempty"`   // when
	Rule         GateRule   `json:"rule"`                   // what is required
	Requirements []Required `json:"requirements,omitempty"` // one for each Trigger and service, those that do not pass first
}

// The states of a verdict.
const (
	VerdictPassed    = "passed"
	VerdictFailed    = "failed"
	VerdictRunning   = "running"   // a required run has not ended, or has not passed for long enough
	VerdictNone      = "none"      // a required run does not exist, or ended without a result
	VerdictStale     = "stale"     // a result is too old, or of other variables or files than those deployed last
	VerdictWithdrawn = "withdrawn" // it had passed, and a later run of the same commit did not
)

// GateRule is what a verdict requires.
type GateRule struct {
	Triggers []string `json:"triggers,omitempty"` // absent: those that matched
	MaxAge   string   `json:"maxAge,omitempty"`   // as in 24h; absent: no limit
	MinAge   string   `json:"minAge,omitempty"`
}

// Required is a Trigger whose run must have passed, and the run that decides.
type Required struct {
	Trigger     string       `json:"trigger"`
	Service     string       `json:"service,omitempty"`
	State       string       `json:"state"`             // as of the verdict
	Message     string       `json:"message"`           // a sentence
	Run         string       `json:"run,omitempty"`     // absent: there is none
	URL         string       `json:"url,omitempty"`     // of its page
	EndedAt     *time.Time   `json:"endedAt,omitempty"` // if it has ended
	Tests       *TestResults `json:"tests,omitempty"`
	DecidedBy   string       `json:"decidedBy,omitempty"` // Tests, Report or ExitCode, as of a run
	NewFailures []string     `json:"newFailures,omitempty"`
}

// StartedVerdict is a verdict after what is missing or stale was started.
type StartedVerdict struct {
	Verdict
	Started  []StartedRun   `json:"started"`            // unfinished runs that this request started or found, one for each Trigger and service
	Problems []StartProblem `json:"problems,omitempty"` // why others could not be started
}

// StartedRun is a run that answers a requirement.
type StartedRun struct {
	Trigger string `json:"trigger"`
	Service string `json:"service,omitempty"`
	Run     string `json:"run"`
	URL     string `json:"url"` // of its page
}

// StartProblem says why a requirement got no run.
type StartProblem struct {
	Trigger string `json:"trigger"`
	Service string `json:"service,omitempty"`
	Reason  string `json:"reason"` // a sentence
}

package httpapi

import "time"

// Stage is how far a run is. Clients treat any other word as an error.
type Stage string

// The stages. Some clients accept one more, underReview, for people who look at results; here the result of
// the test decides.
const (
	Initializing Stage = "initializing" // queued, starting, running, or being stopped
	Completed    Stage = "completed"    // ended by itself, whether it passed or not
	Canceled     Stage = "canceled"     // stopped or Inconclusive, so that nothing is known of the deployment
)

// Greenlight says whether a pipeline may continue.
type Greenlight struct {
	Greenlight             bool   `json:"greenlight"`
	RootRunID              string `json:"rootRunId"` // the run in the request
	RootRunURL             string `json:"rootRunUrl"`
	RelevantRunID          string `json:"relevantRunId"` // the run that counts for it
	RelevantRunURL         string `json:"relevantRunUrl"`
	RelevantRunWithBugsURL string `json:"relevantRunWithBugsUrl"`
	RunStage               Stage  `json:"runStage"`

	// RepeatedByRunID is the run that repeats the root, because that was Inconclusive, or ended as Error and is retried. The rest of the
	// answer is about it, and relevantRunId stays the root: it is no newer deployment.
	RepeatedByRunID string `json:"repeatedByRunId,omitempty"`

	// What the run that counts tests, according to its notification.
	URL             string `json:"url,omitempty"`
	VariablesDigest string `json:"variablesDigest,omitempty"` // "sha256:" and 64 hexadecimal digits

	// Of a run that has not ended, or has no verdict, as kubectl shows them. Empty before the manager has seen the run.
	RunState   string `json:"runState,omitempty"` // Queued, Starting, Running, Canceled, Superseded or Inconclusive
	RunMessage string `json:"runMessage,omitempty"`

	// A run is one workflow to the clients.
	WorkflowsInRunCount              int `json:"workflowsInRunCount"`
	WorkflowsUnderInvestigationCount int `json:"workflowsUnderInvestigationCount"`
	WorkflowsDisabledAfterRunCount   int `json:"workflowsDisabledAfterRunCount"`

	// Of a completed run.
	CompletedAt *time.Time `json:"completedAt,omitempty"` // how old its result is
	*Bugs
}

// Bugs are what a completed run found: nothing, or that it did not pass. Clients iterate over the lists,
// which are never null.
type Bugs struct {
	BlockingBugsCount              int      `json:"blockingBugsCount"`
	NonBlockingBugsCount           int      `json:"nonBlockingBugsCount"`
	BlockingBugURLs                []string `json:"blockingBugUrls"`
	NonBlockingBugURLs             []string `json:"nonBlockingBugUrls"`
	ReproducedBugs                 []Bug    `json:"reproducedBugs"`
	OtherBlockingBugsInEnvironment []Bug    `json:"otherBlockingBugsInEnvironment"`
}

// Bug is why a run did not pass.
type Bug struct {
	ApplicationURL string `json:"applicationUrl"`
	IsBlocking     bool   `json:"isBlocking"`
	IsNew          bool   `json:"isNew"`
	Name           string `json:"name"`
	Number         int    `json:"number"`
	Priority       string `json:"priority"`
}

// HasSuccessor reports whether the answer is about the run that repeats the root.
func (g Greenlight) HasSuccessor() bool {
	return g.RelevantRunID == g.RootRunID && g.RepeatedByRunID != ""
}

// Counting returns the id of the run that the answer is about.
func (g Greenlight) Counting() string {
	if g.HasSuccessor() {
		return g.RepeatedByRunID
	}
	return g.RelevantRunID
}

// Final reports whether the answer will never change.
func (g Greenlight) Final() bool { return g.RunStage != Initializing }

// Same reports whether the other answer is no news to a client that waits. The state and the message are no
// news: they change with each position in the queue.
func (g Greenlight) Same(other Greenlight) bool {
	return g.RunStage == other.RunStage && g.RelevantRunID == other.RelevantRunID && g.RepeatedByRunID == other.RepeatedByRunID
}

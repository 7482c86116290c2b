package httpapi

// EventResult answers an event of another service.
type EventResult struct {
	Ignored string        `json:"ignored,omitempty"` // a sentence: why it starts nothing
	Results []Result      `json:"results,omitempty"` // of a deployment: one per Trigger that matched
	Repeats []EventRepeat `json:"repeats,omitempty"` // of the wish to repeat runs

	Review string `json:"review,omitempty"` // the DeploymentReview that decides about a deployment that waits

	// What came of a command in a comment, or of a closed pull request.
	Canceled []string `json:"canceled,omitempty"` // runs that it stops
	Ended    []string `json:"ended,omitempty"`    // ephemeral Environments
	Answer   string   `json:"answer,omitempty"`   // a line for the pull request

	// What made a deployment of GitHub, if it is not ignored.
	Workflow string `json:"workflow,omitempty"`
	Job      string `json:"job,omitempty"`
	Task     string `json:"task,omitempty"`
}

// EventRepeat names a run and the next attempt of it that the event asked for.
type EventRepeat struct {
	RunID     string `json:"run_id"`
	NextRunID string `json:"next_run_id,omitempty"` // empty: there is none
	Created   bool   `json:"created"`               // by this event
	Problem   string `json:"problem,omitempty"`     // a sentence: why there is none
}

// Package httpapi is the JSON of Postflight's HTTP API, for the server and its clients. The OpenAPI document
// of the server, openapi.yaml, says what the fields mean; a test compares the two.
//
// Clients look at which keys an answer has: an absent value is never null.
package httpapi

import "time"

// Notification says what was deployed. Every field is optional.
type Notification struct {
	Branch               string            `json:"branch,omitempty"`
	SHA                  string            `json:"sha,omitempty"`
	DeploymentType       string            `json:"deployment_type,omitempty"`
	DeploymentURL        string            `json:"deployment_url,omitempty"`
	HostingService       string            `json:"hosting_service,omitempty"` // GitHub, the default, or GitLab
	CommitURL            string            `json:"commit_url,omitempty"`
	CommitMessage        string            `json:"commit_message,omitempty"` // the server keeps its first line
	CommitAuthor         string            `json:"commit_author,omitempty"`  // a name; the server drops an e-mail address after it
	Variables            map[string]string `json:"variables,omitempty"`
	DeduplicationKey     string            `json:"deduplication_key,omitempty"`
	EphemeralEnvironment bool              `json:"ephemeral_environment,omitempty"`
	Repository           string            `json:"repository,omitempty"`          // owner/name, or group/subgroup/name
	Service              string            `json:"service,omitempty"`             // at most 128 bytes; absent: the whole repository
	PullRequestNumber    int               `json:"pull_request_number,omitempty"` // or of the merge request
	PipelineID           int               `json:"pipeline_id,omitempty"`         // of GitLab, that the check belongs to
}

// NotificationResult answers a notification.
type NotificationResult struct {
	Results      []Result      `json:"results"`               // one per Trigger that matched, ordered by name
	Environment  *Environment  `json:"environment,omitempty"` // of the first Trigger that matched
	Hint         string        `json:"hint,omitempty"`        // sentences about a notification that may not be what the sender meant
	DryRun       bool          `json:"dryRun,omitempty"`
	Explanations []Explanation `json:"explanations,omitzero"` // of a dry run: one per Trigger, by name; too large ones come last

	// WaitToken, for senders without an API key, reads how the runs of Results end, until it expires.
	WaitToken          string     `json:"wait_token,omitempty"`
	WaitTokenExpiresAt *time.Time `json:"wait_token_expires_at,omitempty"`
}

// Result is what came of one Trigger that matched. Of CreatedSuiteID, DuplicateSuiteID and FailureReason, exactly one is set.
type Result struct {
	TriggerID        string       `json:"trigger_id"`
	CreatedSuiteID   string       `json:"created_suite_id,omitempty"`
	DuplicateSuiteID string       `json:"duplicate_suite_id,omitempty"`
	DuplicateEndedAt *time.Time   `json:"duplicate_ended_at,omitempty"` // nil: the run has not ended
	DuplicateDiffers []Difference `json:"duplicate_differs,omitempty"`  // empty: the run tests the same deployment
	FailureReason    string       `json:"failure_reason,omitempty"`
}

// Difference is what distinguishes a deployment from the deployment of the same commit that an existing run tests.
type Difference string

// The differences.
const (
	DifferentURL       Difference = "deployment_url"
	DifferentVariables Difference = "variables"
	DifferentInputs    Difference = "inputs"         // an input file was uploaded again or deleted since
	UnknownInputs      Difference = "inputs_unknown" // the store could not say whether one was

	DifferentRepository  Difference = "repository"
	DifferentEnvironment Difference = "environment" // it was deleted and created again since
)

// RunID is the run that was created or existed before; empty if there is none.
func (r Result) RunID() string { return r.CreatedSuiteID + r.DuplicateSuiteID }

// Environment is where runs take place.
type Environment struct {
	ID       string `json:"id"` // UID; empty if the Environment does not exist
	Alias    string `json:"alias"`
	IsStatic bool   `json:"isStatic"`
}

// Explanation says whether a Trigger matches, and why.
type Explanation struct {
	TriggerID  string      `json:"trigger_id"`
	Matched    bool        `json:"matched"`
	Conditions []Condition `json:"conditions"`
}

// Condition is one condition of a Trigger.
type Condition struct {
	Name    string `json:"name"`
	Held    bool   `json:"held"`
	Message string `json:"message"`
}

// SignedURL is where to PUT a file, and the names of the file in a notification.
type SignedURL struct {
	FileLocation           string `json:"fileLocation"`
	PlaygroundFileLocation string `json:"playgroundFileLocation"`
	SignedURL              string `json:"signedUrl"` // a secret while it is valid

	ExpiresAt time.Time `json:"expiresAt,omitzero"` // until when the upload has to begin
}

// Problem is the body of every error, as RFC 9457 defines it.
type Problem struct {
	Type           string   `json:"type"`
	Title          string   `json:"title"`
	Status         int      `json:"status"`
	Detail         string   `json:"detail"`
	FailureCode    string   `json:"failureCode"` // a stable word
	FailureMessage string   `json:"failureMessage"`
	EventID        string   `json:"eventId"`
	Field          string   `json:"field,omitempty"`   // the member of the body at fault
	Results        []Result `json:"results,omitempty"` // what is known of a notification that failed as a whole
}

package github

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

// payload has the members that matter of all events. Others are checked to be JSON, with each name once, and skipped.
type payload struct {
	Action     string `json:"action"`
	Repository struct {
		FullName string `json:"full_name"`
		HTMLURL  string `json:"html_url"`
	} `json:"repository"`
	Sender struct {
		Login string `json:"login"`
	} `json:"sender"`
	Deployment struct {
		SHA     string         `json:"sha"`
		Ref     string         `json:"ref"`
		Task    string         `json:"task"`
		Payload jsontext.Value `json:"payload"` // what the creator wrote
	} `json:"deployment"`
	DeploymentStatus deploymentStatus `json:"deployment_status"`
	WorkflowRun      *workflowRun     `json:"workflow_run"`
	CheckRun         struct {
		Name       string `json:"name"` // of a job, in events of deployments
		ExternalID string `json:"external_id"`
		HeadSHA    string `json:"head_sha"`
	} `json:"check_run"`
	CheckSuite struct {
		HeadSHA   string    `json:"head_sha"`
		App       app       `json:"app"`
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"check_suite"`
}

type deploymentStatus struct {
	ID             int64     `json:"id"`
	State          string    `json:"state"`
	Environment    string    `json:"environment"`
	EnvironmentURL string    `json:"environment_url"`
	LogURL         string    `json:"log_url"`
	Description    string    `json:"description"`
	CreatedAt      time.Time `json:"created_at"`
	App            *app      `json:"performed_via_github_app"`
}

type app struct {
	ID int64 `json:"id"`
}

// workflowRun is of GitHub Actions.
type workflowRun struct {
	Name         string `json:"name"` // of the workflow
	Path         string `json:"path"` // of its file, perhaps with @ and a ref
	HeadBranch   string `json:"head_branch"`
	PullRequests []struct {
		Number int64 `json:"number"`
	} `json:"pull_requests"`
}

func read[T any](body []byte) (p T, err error) {
	if err := event.Unmarshal(body, &p); err != nil {
		return p, &event.InvalidError{Reason: "The body is not the JSON of an event of GitHub: " +
			"each member must be there once, and have the type that GitHub documents. Choose the content type application/json."}
	}
	return p, nil
}

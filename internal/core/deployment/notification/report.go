package notification

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// DeploymentSuccess is the status of a Report that starts runs.
const DeploymentSuccess = "success"

var deploymentStatuses = []string{"pending", DeploymentSuccess, "failure", "inactive"}

// Report is the status of a deployment, as the newer call of the HTTP contract's clients sends it.
type Report struct {
	ID           string // the sender's, the same in each report of the deployment
	Status       string
	Notification *Notification // of what was deployed, if the Status is DeploymentSuccess
}

// reported are the members of a notification by their path in a report.
var reported = map[string]string{
	"deployTarget":               "deployment_url",
	"environmentVariables":       "variables",
	"environment.name":           "deployment_type",
	"environment.ephemeral":      "ephemeral_environment",
	"service":                    "service",
	"metadata.commitSha":         "sha",
	"metadata.ref":               "branch",
	"metadata.repository":        "repository",
	"metadata.pullRequestNumber": "pull_request_number",
	"metadata.commitMessage":     "commit_message",
	"metadata.commitAuthorName":  "commit_author",
}

// DecodeReport accepts a report in the envelope of tRPC, and skips unknown members. Its error is an *InvalidError.
func DecodeReport(body []byte) (*Report, error) {
	r, err := newReader(body)
	if err != nil {
		return nil, err
	}
	n := &Notification{HostingService: v1alpha1.GitHub}
	d := &reportDecoder{decoder: decoder{reader: r, n: n}, report: &Report{Notification: n}}
	if err := r.object("a JSON object", d.envelope); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if err := d.problem(); err != nil {
		return nil, err
	}
	return d.report, nil
}

type reportDecoder struct {
	decoder
	report        *Report
	enveloped     bool
	environmentID string
}

func (d *reportDecoder) envelope(name string) error {
	if name != "json" {
		return d.skip()
	}
	d.enveloped = true
	return d.object("an object", d.within(""))
}

// within reads the members below a path.
func (d *reportDecoder) within(parent string) func(name string) error {
	return func(name string) error {
		path := parent + name
		d.repairs = false
		switch path {
		case "providerDeploymentId":
			return d.checked(&d.report.ID, nameOfObject)
		case "status":
			return d.checked(&d.report.Status, deploymentStatus)
		case "environment", "metadata":
			return d.object("an object", d.within(path+"."))
		case "environment.id":
			return d.checked(&d.environmentID, nameOfObject)
		}
		if member, known := reported[path]; known {
			return d.member(member)
		}
		return d.skip()
	}
}

func deploymentStatus(value string) (string, string) {
	if !slices.Contains(deploymentStatuses, value) {
		return "", "must be pending, success, failure or inactive"
	}
	return value, ""
}

// problem is about members that are missing.
func (d *reportDecoder) problem() error {
	success := d.report.Status == DeploymentSuccess
	switch {
	case !d.enveloped:
		return &InvalidError{Field: "json", Reason: "is missing; send one report in it, and no batch"}
	case d.report.ID == "":
		return &InvalidError{Field: "json.providerDeploymentId", Reason: "is missing; send your id of the deployment"}
	case d.report.Status == "":
		return &InvalidError{Field: "json.status", Reason: "is missing; send pending, success, failure or inactive"}
	case success && d.environmentID != "" && d.n.DeploymentType == "":
		return &InvalidError{Field: "json.environment.id",
			Reason: "names nothing here; send environment.name, which Triggers compare as the deployment type"}
	case success && d.n.EphemeralEnvironment && d.n.DeploymentURL == "":
		return &InvalidError{Field: "json.environment.ephemeral", Reason: "needs a deployTarget: the URL of the deployment"}
	}
	return nil
}

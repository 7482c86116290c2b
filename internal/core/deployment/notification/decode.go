package notification

import (
	"fmt"
	"strconv"

	"github.com/postflight-dev/postflight/api/v1alpha1"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads a notification in the format of the HTTP contract. Its error is an *InvalidError.
func Decode(body []byte) (*Notification, error) {
	r, err := newReader(body)
	if err != nil {
		return nil, err
	}
	if kind := r.tokens.PeekKind(); kind == jsontext.KindNull {
		return nil, r.wrongType("a JSON object")
	}
	d := &decoder{reader: r, n: &Notification{HostingService: v1alpha1.GitHub}}
	if err := r.object("a JSON object", d.member); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if d.n.EphemeralEnvironment && d.n.DeploymentURL == "" {
		return nil, &InvalidError{
			Field:  "ephemeral_environment",
			Reason: "needs a deployment_url: send the URL of the deployment, or leave ephemeral_environment out",
		}
	}
	return d.n, nil
}

type decoder struct {
	*reader
	n *Notification
}

func (d *decoder) member(name string) error {
	d.repairs = Shown(name)
	switch name {
	case "branch":
		return d.checked(&d.n.Branch, branch)
	case "sha":
		return d.checked(&d.n.SHA, sha)
	case "deployment_type":
		return d.checked(&d.n.DeploymentType, deploymentType)
	case "deployment_url":
		return d.checked(&d.n.DeploymentURL, httpURL)
	case "hosting_service":
		return d.hostingService()
	case "commit_url":
		return d.checked(&d.n.CommitURL, httpURL)
	case "commit_message":
		return d.checked(&d.n.CommitMessage, commitMessage)
	case "commit_author":
		return d.checked(&d.n.CommitAuthor, commitAuthor)
	case "variables":
		return d.variables()
	case "deduplication_key":
		return d.checked(&d.n.DeduplicationKey, deduplicationKey)
	case "ephemeral_environment":
		return d.ephemeralEnvironment()
	case "repository":
		return d.repository()
	case "service":
		return d.checked(&d.n.Service, service)
	case "pull_request_number", "merge_request_number":
		return d.pullRequestNumber()
	case "pipeline_id":
		return d.pipelineID()
	default:
		return d.unknown(name)
	}
}

func (d *decoder) hostingService() error {
	name := string(d.n.HostingService)
	if err := d.checked(&name, hostingService); err != nil {
		return err
	}
	d.n.HostingService = v1alpha1.HostingService(name)
	return nil
}

func (d *decoder) ephemeralEnvironment() (err error) {
	d.n.EphemeralEnvironment, err = d.boolean()
	return err
}

func (d *decoder) pipelineID() (err error) {
	d.n.PipelineID, err = d.positive()
	return err
}

// positive reads a whole number; 0 means absent.
func (d *decoder) positive() (int64, error) {
	written, err := d.number()
	if err != nil || written == "" {
		return 0, err
	}
	number, err := strconv.ParseInt(written, 10, 64)
	if err != nil || number < 1 || number > MaxNumber {
		return 0, d.invalid(fmt.Sprintf("must be a whole number from 1 to %d, in digits only", int64(MaxNumber)))
	}
	return number, nil
}

// pullRequestNumber reads either of the two names, or both if they agree.
func (d *decoder) pullRequestNumber() error {
	number, err := d.positive()
	if err != nil || number == 0 {
		return err
	}
	if d.n.PullRequestNumber != 0 && d.n.PullRequestNumber != number {
		return d.invalid("differs from the other of pull_request_number and merge_request_number; send one of them")
	}
	d.n.PullRequestNumber = number
	return nil
}

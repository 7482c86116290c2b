package github

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxShown = 64 // of a value that a sentence repeats, in bytes

	success     = "success"
	rerequested = "rerequested"
	requested   = "requested"
)

// uid is what a check of Postflight has as external id.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// delivery is GitHub's id of a delivery, which it gives to each attempt.
var delivery = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Decode reads an event whose signature was verified.
func Decode(h event.Header, body []byte, o event.Options) (event.Event, error) {
	e := event.Event{Type: plaintext.Line(h.Get("X-GitHub-Event"), maxShown)}
	if id := h.Get("X-GitHub-Delivery"); delivery.MatchString(id) {
		e.Delivery = id
	}
	p, err := read[payload](body)
	if err != nil {
		return e, err
	}
	e.Repository = plaintext.Line(p.Repository.FullName, notification.MaxTextBytes)
	switch e.Type {
	case "deployment_status":
		return p.deployed(e, o)
	case "check_run":
		return p.rerun(e)
	case "check_suite":
		return p.rerunAll(e, o)
	case "deployment_protection_rule":
		return p.review(e, body)
	case "issue_comment":
		return p.comment(e, body)
	case "pull_request":
		return p.closed(e, body)
	case "ping":
		e.Ignored = "GitHub reaches Postflight, and signs with the right secret."
	case "":
		return e, &event.InvalidError{Reason: "The header X-GitHub-Event is missing."}
	default:
		e.Ignored = fmt.Sprintf("Postflight does nothing about events of the type %s.", e.Type)
	}
	return e, nil
}

func (p payload) deployed(e event.Event, o event.Options) (event.Event, error) {
	s, excluded, missing := p.DeploymentStatus, p.leftOut(o.Deployments), p.missing()
	e.At = s.CreatedAt
	switch {
	case s.State != success:
		e.Ignored = fmt.Sprintf("The state of the deployment is %q; only success starts runs.", plaintext.Line(s.State, maxShown))
		return e, nil
	case s.App != nil && s.App.ID != 0 && s.App.ID == o.OwnApp:
		e.Ignored = "Postflight has posted this state itself, with its own App."
		return e, nil
	case excluded != "":
		e.Ignored = excluded
		return e, nil
	case len(missing) > 0:
		return e, &event.InvalidError{Reason: "The event lacks " + strings.Join(missing, ", ") + "."}
	}
	n, err := event.NewNotification(map[string]string{
		"sha": p.Deployment.SHA, "branch": p.branch(), "deployment_type": o.DeploymentType(s.Environment), "deployment_url": s.EnvironmentURL,
		"repository": p.Repository.FullName, "service": service(p.Deployment.Payload), "commit_url": p.commitURL(),
		"hosting_service": string(v1alpha1.GitHub),
	})
	if err != nil {
		return e, err
	}
	made := p.maker().shown()
	n.Workflow, n.Job, n.Task = made.workflow, made.job, made.task
	if run := p.WorkflowRun; run != nil && len(run.PullRequests) == 1 && run.PullRequests[0].Number <= notification.MaxNumber {
		n.PullRequestNumber = max(0, run.PullRequests[0].Number)
	}
	if base, number, queued := codehost.MergeQueue(n.Branch); queued {
		n.Branch, n.PullRequestNumber = base, number
	}
	e.Notification, e.ID = n, "github/deployment_status/"+strconv.FormatInt(s.ID, 10)
	e.Post = &event.Post{Environment: s.Environment, LogURL: s.LogURL, Description: s.Description}
	return e, nil
}

// missing names what each event of a deployment has, and this one has not.
func (p payload) missing() (members []string) {
	for _, member := range []struct {
		name string
		has  bool
	}{
		{"deployment_status.id", p.DeploymentStatus.ID > 0}, {"deployment_status.created_at", !p.DeploymentStatus.CreatedAt.IsZero()},
		{"deployment.sha", p.Deployment.SHA != ""}, {"repository.full_name", p.Repository.FullName != ""},
	} {
		if !member.has {
			members = append(members, member.name)
		}
	}
	return members
}

// service returns the member of that name of the payload that the creator of a deployment gave it: an object, or its JSON as a text.
// Payloads belong to their creators, so that any other payload names none.
func service(payload jsontext.Value) string {
	var text string
	if payload.Kind() == jsontext.KindString && event.Unmarshal(payload, &text) == nil {
		payload = jsontext.Value(text)
	}
	var says struct {
		Service any `json:"service"`
	}
	if event.Unmarshal(payload, &says, jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	name, _ := says.Service.(string)
	return name
}

// branch is the ref of the deployment, unless that is the commit. GitHub does not tell tags from branches.
func (p payload) branch() string {
	ref := p.Deployment.Ref
	switch {
	case commit.NormalSHA(ref) != commit.NormalSHA(p.Deployment.SHA):
		return ref
	case p.WorkflowRun != nil:
		return p.WorkflowRun.HeadBranch
	default:
		return ""
	}
}

func (p payload) commitURL() string {
	if p.Repository.HTMLURL == "" || !commit.IsSHA(p.Deployment.SHA) {
		return ""
	}
	return p.Repository.HTMLURL + "/commit/" + p.Deployment.SHA
}

func (p payload) rerun(e event.Event) (event.Event, error) {
	id := p.CheckRun.ExternalID
	switch {
	case p.Action != rerequested:
		e.Ignored = "Of check runs, only the wish to re-run one starts something."
	case !uid.MatchString(id):
		e.Ignored = "Postflight has not posted this check run: its external id is not that of a run."
	default:
		e.Rerun = &event.Rerun{Runs: []string{id}, Repository: e.Repository, Commit: commit.NormalSHA(p.CheckRun.HeadSHA), By: p.by()}
	}
	return e, nil
}

// rerunAll is dated by the last change of the check suite, so that the attempts that it starts are later, however often it is delivered.
func (p payload) rerunAll(e event.Event, o event.Options) (event.Event, error) {
	s := p.CheckSuite
	switch {
	case p.Action != rerequested:
		e.Ignored = "Of check suites, only the wish to re-run one starts something."
	case o.OwnApp != 0 && s.App.ID != o.OwnApp:
		e.Ignored = "The checks are of another App."
	case !commit.IsSHA(s.HeadSHA), s.UpdatedAt.IsZero():
		return e, &event.InvalidError{Reason: "The event lacks the head_sha or the updated_at of the check suite."}
	default:
		e.At = s.UpdatedAt
		e.Rerun = &event.Rerun{Repository: e.Repository, Commit: commit.NormalSHA(s.HeadSHA), By: p.by()}
	}
	return e, nil
}

func (p payload) by() string { return event.Starter(v1alpha1.GitHub, p.Sender.Login) }

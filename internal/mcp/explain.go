package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
)

func explainTrigger(ctx context.Context, c *client.Client, in explainIn) (*explainOut, error) {
	n := httpapi.Notification{
		SHA: in.SHA, Branch: in.Branch, DeploymentType: in.DeploymentType, DeploymentURL: in.DeploymentURL, Repository: in.Repository,
		Service: in.Service, CommitMessage: in.CommitMessage, Variables: in.Variables,
	}
	out := &explainOut{Triggers: []triggerMatch{}}
	if n.SHA == "" && n.Branch == "" && n.DeploymentType == "" && n.DeploymentURL == "" && n.Repository == "" {
		return nil, errNoDeployment
	}
	if n.Branch == "" && n.DeploymentType == "" {
		var err error
		if out.CompletedBy, err = complete(ctx, c, &n, in.Environment); err != nil {
			return nil, err
		}
	}
	answer, err := c.Explain(ctx, n)
	if err != nil {
		return nil, err
	}
	out.Notification, out.Hint = n, answer.Hint
	out.Triggers = explanations(answer, in.Trigger)
	if in.Trigger != "" && len(out.Triggers) == 0 {
		return nil, fmt.Errorf("the team has no Trigger %q. explain_trigger without trigger lists all", in.Trigger)
	}
	return out, nil
}

// complete adds the fields of what is deployed, or of the latest run of the commit, and returns a sentence about them. An Environment that
// was deleted may have runs.
func complete(ctx context.Context, c *client.Client, n *httpapi.Notification, environment string) (string, error) {
	var unknown error
	if environment != "" {
		e, err := c.Environment(ctx, environment)
		unknown = err
		for _, d := range deployedOf(e, err) {
			if n.SHA == "" || d.SHA == n.SHA {
				n.SHA, n.Branch, n.DeploymentType = d.SHA, d.Branch, d.DeploymentType
				n.Repository, n.Service = cmp.Or(n.Repository, d.Repository), cmp.Or(n.Service, d.Service)
				n.DeploymentURL = cmp.Or(n.DeploymentURL, d.URL, e.URL)
				return fmt.Sprintf("Branch, deployment type and other fields come from what %s has deployed. Variables are not known.", e.Name), nil
			}
		}
	}
	r, err := latestRun(ctx, c, n.SHA, environment)
	switch {
	case err != nil:
		return "", err
	case r == nil && unknown != nil:
		return "", unknown
	case r == nil:
		return "Nothing is known of how this commit was notified: conditions on missing fields do not hold. Give branch and deploymentType.", nil
	}
	n.Branch, n.DeploymentType = r.Branch, r.DeploymentType
	n.Repository, n.Service = cmp.Or(n.Repository, r.Repository), cmp.Or(n.Service, r.Service)
	n.DeploymentURL, n.CommitMessage = cmp.Or(n.DeploymentURL, r.DeploymentURL), cmp.Or(n.CommitMessage, r.CommitMessage)
	return fmt.Sprintf("Branch, deployment type and other fields come from the run %s. Variables are not known.", r.ID), nil
}

// latestRun returns nil if there is none.
func latestRun(ctx context.Context, c *client.Client, sha, environment string) (*httpapi.Run, error) {
	if sha == "" {
		return nil, nil
	}
	page, err := c.RunsPage(ctx, client.RunFilter{SHA: sha, Environment: environment, PageSize: 1}, "")
	if err != nil || len(page.Runs) == 0 {
		return nil, err
	}
	return &page.Runs[0], nil
}

func deployedOf(e *httpapi.EnvironmentStatus, err error) []httpapi.Deployed {
	if err != nil {
		return nil
	}
	return e.Deployed
}

// explanations are about one Trigger, or about all: matching ones first, then by the number of conditions that do not hold.
func explanations(answer *httpapi.NotificationResult, trigger string) []triggerMatch {
	all := []triggerMatch{}
	for _, e := range answer.Explanations {
		if trigger != "" && e.TriggerID != trigger {
			continue
		}
		one := triggerMatch{Trigger: e.TriggerID, Matched: e.Matched}
		for _, condition := range e.Conditions {
			if !condition.Held {
				one.Failed = append(one.Failed, condition)
			}
		}
		for _, r := range answer.Results {
			if r.TriggerID == e.TriggerID {
				one.WouldStart, one.ExistingRun, one.Problem = r.CreatedSuiteID != "", r.DuplicateSuiteID, r.FailureReason
			}
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b triggerMatch) int { return cmp.Compare(len(a.Failed), len(b.Failed)) })
	return all
}

func shrinkExplained(out *explainOut) bool {
	n := len(out.Triggers)
	if n < 2 {
		return false
	}
	out.Triggers = out.Triggers[:n-(n+7)/8]
	out.Omitted = once(out.Omitted, "Triggers with more conditions that do not hold are left out: name one with trigger.")
	return true
}

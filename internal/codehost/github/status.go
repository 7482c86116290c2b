package github

import (
	"context"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
)

const pending = "pending"

// status may repeat a commit status: the newest one of a name counts.
func (p poster) status(ctx context.Context) (v1alpha1.SuiteReport, error) {
	desired := p.newStatus()
	if p.Unsure && p.Check.DetailsURL != "" {
		shown, err := p.latestStatus(ctx)
		if err != nil {
			return v1alpha1.SuiteReport{}, err
		}
		if shown.GetState() == *desired.State && shown.GetDescription() == *desired.Description {
			return p.Shown(p.Check.Phase, 0), nil
		}
	}
	_, _, err := p.client.Repositories.CreateStatus(ctx, p.owner, p.name, p.SHA, desired)
	return p.Shown(p.Check.Phase, 0), err
}

func (p poster) newStatus() gh.RepoStatus {
	shown := pending
	if p.Check.Phase == v1alpha1.ReportCompleted {
		shown = codehost.Of(v1alpha1.GitHub).Statuses.Of(p.Check.State)
	}
	return gh.RepoStatus{State: &shown, Context: &p.Check.Name, Description: &p.Check.Title, TargetURL: optional(p.Check.DetailsURL)}
}

// latestStatus returns the newest status of the check's name if this run posted it, else nil.
func (p poster) latestStatus(ctx context.Context) (*gh.RepoStatus, error) {
	list, _, err := p.client.Repositories.ListStatuses(ctx, p.owner, p.name, p.SHA, &gh.ListOptions{PerPage: 100})
	if err != nil {
		return nil, err
	}
	for _, s := range list { // newest first
		if s.GetContext() == p.Check.Name {
			if s.GetTargetURL() == p.Check.DetailsURL {
				return s, nil
			}
			return nil, nil
		}
	}
	return nil, nil
}

package github

import (
	"context"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Deploy shows a deployment with at most one write. It returns its id, or 0, and if another call is needed. The error is a *report.Error.
func (h *Host) Deploy(ctx context.Context, r report.DeploymentRequest) (id int64, more bool, err error) {
	id, err = with(ctx, h, r.Request, func(p poster) (created int64, err error) {
		created, more, err = deployer{p, r.Deployment}.deploy(ctx, r.ID)
		return created, err
	})
	return id, more, err
}

type deployer struct {
	poster
	report.Deployment
}

func (d deployer) deploy(ctx context.Context, id int64) (int64, bool, error) {
	creates := d.Newest && !d.Stopped()
	if id == 0 && creates {
		found, err := d.findDeployment(ctx)
		if err != nil {
			return 0, false, err
		}
		id = found
	}
	switch {
	case id != 0:
		return id, false, d.setState(ctx, id)
	case !creates:
		return 0, false, nil
	}
	created, _, err := d.client.Repositories.CreateDeployment(ctx, d.owner, d.name, &gh.DeploymentRequest{
		Ref: &d.SHA, Environment: &d.Environment, Description: new("Tested by Postflight"),
		AutoMerge: new(false), RequiredContexts: &[]string{}, // it has happened already
	})
	return created.GetID(), true, err
}

// findDeployment returns the newest one of the commit in the Environment, by any creator, or 0.
func (d deployer) findDeployment(ctx context.Context) (int64, error) {
	list, _, err := d.client.Repositories.ListDeployments(ctx, d.owner, d.name, &gh.DeploymentsListOptions{
		SHA: d.SHA, Environment: d.Environment, ListOptions: gh.ListOptions{PerPage: 100},
	})
	var newest int64
	for _, found := range list {
		newest = max(newest, found.GetID())
	}
	return newest, err
}

func (d deployer) setState(ctx context.Context, id int64) error {
	desired := codehost.Of(v1alpha1.GitHub).Deployments.Of(d.State)
	shown, _, err := d.client.Repositories.ListDeploymentStatuses(ctx, d.owner, d.name, id, &gh.ListOptions{PerPage: 100})
	if err != nil {
		return err
	}
	if newestStatus(shown).GetState() == desired {
		return nil
	}
	_, _, err = d.client.Repositories.CreateDeploymentStatus(ctx, d.owner, d.name, id, &gh.DeploymentStatusRequest{
		State: &desired, LogURL: optional(d.LogURL), EnvironmentURL: optional(d.URL), Description: &d.Description,
		AutoInactive: &d.Newest, // a late success must not end a newer deployment
	})
	return err
}

func newestStatus(list []*gh.DeploymentStatus) *gh.DeploymentStatus {
	var newest *gh.DeploymentStatus
	for _, s := range list {
		if newest == nil || s.GetID() > newest.GetID() {
			newest = s
		}
	}
	return newest
}

package gitlab

import (
	"cmp"
	"context"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Deploy shows a deployment with at most one write, and returns its id, or 0. No further call is needed. The error is a *report.Error.
func (h *Host) Deploy(ctx context.Context, r report.DeploymentRequest) (id int64, more bool, err error) {
	id, err = with(h, r.Request, func(p poster) (int64, error) { return deployer{p, r.Deployment}.deploy(ctx, r.ID) })
	return id, false, err
}

type deployer struct {
	poster
	report.Deployment
}

func (d deployer) deploy(ctx context.Context, id int64) (int64, error) {
	creates := d.Newest && !d.Stopped()
	shown, err := d.shown(ctx, id, creates)
	switch {
	case err != nil:
		return 0, err
	case shown != nil:
		return shown.ID, d.setState(ctx, shown)
	case !creates:
		return 0, nil
	}
	created, _, err := d.client.Deployments.CreateProjectDeployment(d.Repository, &gl.CreateProjectDeploymentOptions{
		Environment: &d.Environment, SHA: &d.SHA, Ref: cmp.Or(d.ref(), &d.SHA), Tag: new(false), Status: new(d.state()),
	}, gl.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	return created.ID, nil
}

// shown returns the deployment with the id, or the newest of the commit in the Environment. Deployments by GitLab's own jobs cannot be
// changed.
func (d deployer) shown(ctx context.Context, id int64, look bool) (*gl.Deployment, error) {
	if id != 0 {
		found, _, err := d.client.Deployments.GetProjectDeployment(d.Repository, id, gl.WithContext(ctx))
		return found, err
	}
	if !look {
		return nil, nil
	}
	list, _, err := d.client.Deployments.ListProjectDeployments(d.Repository, &gl.ListProjectDeploymentsOptions{
		Environment: &d.Environment, OrderBy: new("id"), Sort: new("desc"), ListOptions: gl.ListOptions{PerPage: 100},
	}, gl.WithContext(ctx))
	for _, found := range list {
		if found.SHA == d.SHA && found.Deployable.ID == 0 {
			return found, err
		}
	}
	return nil, err
}

// setState lets no deployment that has ended run again, which GitLab refuses.
func (d deployer) setState(ctx context.Context, shown *gl.Deployment) error {
	desired := d.state()
	if shown.Status == string(desired) || desired == gl.DeploymentStatusRunning && shown.Status != string(gl.DeploymentStatusCreated) {
		return nil
	}
	_, _, err := d.client.Deployments.UpdateProjectDeployment(d.Repository, shown.ID,
		&gl.UpdateProjectDeploymentOptions{Status: &desired}, gl.WithContext(ctx))
	return err
}

func (d deployer) state() gl.DeploymentStatusValue {
	return gl.DeploymentStatusValue(codehost.Of(v1alpha1.GitLab).Deployments.Of(d.State))
}

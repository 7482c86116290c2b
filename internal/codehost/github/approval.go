package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Review sends a decision, or how far the tests are, with one write. It decides about all jobs of the workflow run that wait for the rule
// of the App in the environment. The error is a *report.Error.
func (h *Host) Review(ctx context.Context, r report.ApprovalRequest) error {
	r.Purpose = report.Approvals
	if problem := r.Problem(); problem != nil {
		return problem
	}
	if !r.Credentials.IsApp() {
		return &report.Error{Kind: report.Rejected, Message: "GitHub accepts decisions about deployments only from the GitHub App whose " +
			"protection rule the environment has; use the App instead of a token"}
	}
	_, err := with(ctx, h, r.Request, func(p poster) (struct{}, error) { return struct{}{}, p.review(ctx, r) })
	return err
}

// decision is what go-github has too, with a state that a report of progress must not have.
type decision struct {
	Environment string               `json:"environment_name"`
	State       report.ApprovalState `json:"state,omitempty"`
	Comment     string               `json:"comment"`
}

func (p poster) review(ctx context.Context, r report.ApprovalRequest) error {
	path := fmt.Sprintf("repos/%s/%s/actions/runs/%d/deployment_protection_rule", p.owner, p.name, r.RunID)
	request, err := p.client.NewRequest(ctx, http.MethodPost, path, decision{r.Environment, r.State, r.Text()})
	if err != nil {
		return err
	}
	_, err = p.client.Do(request, nil)
	var answer *gh.ErrorResponse
	if errors.As(err, &answer) && answer.Response.StatusCode == http.StatusUnprocessableEntity {
		// The sentence of the answer is not documented, and may change.
		if waiting, readErr := p.waits(ctx, r); readErr == nil && !waiting {
			return report.NoLongerPending("GitHub", r.Request)
		}
	}
	return err
}

// Pending returns what GitHub says about the workflow run and its environment. The error is a *report.Error.
func (h *Host) Pending(ctx context.Context, r report.ApprovalRequest) (report.Pending, error) {
	r.Purpose = report.Approvals
	if problem := r.Problem(); problem != nil {
		return report.Pending{}, problem
	}
	return with(ctx, h, r.Request, func(p poster) (report.Pending, error) { return p.pending(ctx, r) })
}

func (p poster) pending(ctx context.Context, r report.ApprovalRequest) (report.Pending, error) {
	run, _, err := p.client.Actions.GetWorkflowRunByID(ctx, p.owner, p.name, r.RunID)
	if err != nil {
		return report.Pending{}, err
	}
	waiting, err := p.waits(ctx, r)
	return report.Pending{
		Waiting: waiting, SHA: commit.NormalSHA(line(run.GetHeadSHA())), Environment: r.Environment, Event: line(run.GetEvent()),
		Repository: line(run.GetRepository().GetFullName()), HeadRepository: line(run.GetHeadRepository().GetFullName()),
	}, err
}

// waits reports whether any rule of the environment holds up the run. GitHub does not say which one.
func (p poster) waits(ctx context.Context, r report.ApprovalRequest) (bool, error) {
	list, _, err := p.client.Actions.GetPendingDeployments(ctx, p.owner, p.name, r.RunID)
	return slices.ContainsFunc(list, func(d *gh.PendingDeployment) bool {
		return strings.EqualFold(d.GetEnvironment().GetName(), r.Environment) // GitHub ignores the case of these names
	}), err
}

func line(text string) string { return plaintext.Line(text, notification.MaxTextBytes) }

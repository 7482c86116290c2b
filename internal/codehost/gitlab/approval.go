package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go/v2"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	blocked = "blocked"
	// maxBlocked is how many deployments of an environment are considered, newest first: a manual job stays blocked until a person runs it.
	maxBlocked = 100
	// mergeRequestRef begins the ref of a pipeline of a merge request, whose source may be a fork.
	mergeRequestRef = "refs/merge-requests/"
)

// Review sends a decision with one write. It sends nothing without a state, because GitLab shows no progress. The approval does not start
// the job that deploys: a person does. The error is a *report.Error.
func (h *Host) Review(ctx context.Context, r report.ApprovalRequest) error {
	r.Purpose = report.Approvals
	if problem := r.Problem(); problem != nil {
		return problem
	}
	if r.State == "" {
		return nil
	}
	_, err := with(h, r.Request, func(p poster) (struct{}, error) { return struct{}{}, p.review(ctx, r) })
	return err
}

func (p poster) review(ctx context.Context, r report.ApprovalRequest) error {
	_, err := p.client.Deployments.ApproveOrRejectProjectDeployment(p.Repository, r.DeploymentID, &gl.ApproveOrRejectProjectDeploymentOptions{
		Status: new(gl.DeploymentApprovalStatus(r.State)), Comment: optional(r.Text()),
	}, gl.WithContext(ctx))
	var answer *gl.ErrorResponse
	if errors.As(err, &answer) && answer.HasStatusCode(http.StatusBadRequest) {
		// GitLab writes the reason in the language of the token's user.
		if now, readErr := p.pending(ctx, r); readErr == nil && !now.Waiting {
			return report.NoLongerPending("GitLab", r.Request)
		}
	}
	return err
}

// Pending returns what GitLab says about the deployment. The error is a *report.Error.
func (h *Host) Pending(ctx context.Context, r report.ApprovalRequest) (report.Pending, error) {
	r.Purpose = report.Approvals
	if problem := r.Problem(); problem != nil {
		return report.Pending{}, problem
	}
	return with(h, r.Request, func(p poster) (report.Pending, error) { return p.pending(ctx, r) })
}

// waitingDeployment has members that the client of GitLab does not decode.
type waitingDeployment struct {
	Status      string `json:"status"`
	SHA         string `json:"sha"`
	Ref         string `json:"ref"`
	Approvals   int64  `json:"pending_approval_count"` // absent without a license for approvals
	Environment struct {
		Name string `json:"name"`
	} `json:"environment"`
	Deployable struct {
		Ref      string `json:"ref"`
		Pipeline struct {
			Ref    string `json:"ref"`
			Source string `json:"source"`
		} `json:"pipeline"`
	} `json:"deployable"`
}

func (p poster) pending(ctx context.Context, r report.ApprovalRequest) (report.Pending, error) {
	path := fmt.Sprintf("projects/%s/deployments/%d", gl.PathEscape(p.Repository), r.DeploymentID)
	request, err := p.client.NewRequest(http.MethodGet, path, nil, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return report.Pending{}, err
	}
	var d waitingDeployment
	if _, err := p.client.Do(request, &d); err != nil {
		return report.Pending{}, err
	}
	pending := report.Pending{
		// Manual jobs are blocked, too, and approved jobs until a person runs them. The number alone may be of another environment.
		Waiting: d.Status == blocked && d.Approvals > 0 && d.Environment.Name == r.Environment,
		SHA:     commit.NormalSHA(line(d.SHA)), Environment: line(d.Environment.Name), Event: line(d.Deployable.Pipeline.Source),
		Repository: p.Repository, HeadRepository: p.Repository,
	}
	ofMergeRequest := func(ref string) bool { return strings.HasPrefix(ref, mergeRequestRef) }
	if slices.ContainsFunc([]string{d.Ref, d.Deployable.Ref, d.Deployable.Pipeline.Ref}, ofMergeRequest) {
		pending.HeadRepository = ""
	}
	return pending, nil
}

// Blocked lists deployments to an environment that are blocked, as events would tell of them: GitLab sends none before 19.3. Some of them
// are manual jobs that need no approval. The error is a *report.Error.
func (h *Host) Blocked(ctx context.Context, r report.Request, environment string) ([]event.Review, error) {
	r.Purpose = report.Approvals
	return with(h, r, func(p poster) (reviews []event.Review, err error) {
		list, _, err := p.client.Deployments.ListProjectDeployments(p.Repository, &gl.ListProjectDeploymentsOptions{
			Environment: &environment, Status: new(blocked), OrderBy: new("id"), Sort: new("desc"), ListOptions: gl.ListOptions{PerPage: maxBlocked},
		}, gl.WithContext(ctx))
		for _, d := range list {
			reviews = append(reviews, reviewOf(d, environment))
		}
		return reviews, err
	})
}

func reviewOf(d *gl.Deployment, environment string) event.Review {
	by := ptr.Deref(d.User, gl.ProjectUser{}).Username
	if u := d.Deployable.User; u != nil {
		by = u.Username
	}
	review := event.Review{
		Environment: environment, Ref: line(d.Ref), DeploymentID: d.ID, By: event.Starter(v1alpha1.GitLab, by),
		CreatedAt: ptr.Deref(d.CreatedAt, time.Time{}).UTC(),
	}
	if commit.IsSHA(d.SHA) {
		review.SHA = commit.NormalSHA(d.SHA)
	}
	return review
}

func line(text string) string { return plaintext.Line(text, notification.MaxTextBytes) }

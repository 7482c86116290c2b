// Package gitlab posts commit statuses, deployments and comments on merge requests to GitLab.
package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/version"
)

// Host is gitlab.com or a self-managed GitLab.
type Host struct {
	url    string
	client *http.Client
}

// New returns the host at a URL, such as https://gitlab.com. The client must not follow redirects.
func New(url string, client *http.Client) *Host { return &Host{url: url, client: client} }

// Post makes the host show a check, and returns what it shows. The error is a *report.Error.
func (h *Host) Post(ctx context.Context, r report.Request) (v1alpha1.SuiteReport, error) {
	return with(h, r, func(p poster) (v1alpha1.SuiteReport, error) { return p.post(ctx) })
}

func with[T any](h *Host, r report.Request, send func(poster) (T, error)) (result T, err error) {
	client, err := gl.NewClient(r.Credentials.Token,
		gl.WithBaseURL(h.url), gl.WithHTTPClient(h.client), gl.WithoutRetries(), gl.WithUserAgent(version.UserAgent("postflight")),
		gl.WithCustomLimiter(unlimited{})) // report.Budget counts, across requests
	if err != nil {
		return result, &report.Error{Kind: report.Unavailable, Message: "GitLab cannot be reached", Cause: err}
	}
	if result, err = send(poster{Request: r, client: client}); err != nil {
		err = explain(err, r)
	}
	return result, err
}

type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

type poster struct {
	report.Request
	client *gl.Client
}

func (p poster) post(ctx context.Context) (v1alpha1.SuiteReport, error) {
	done := p.Shown(p.Check.Phase, 0)
	if p.Unsure {
		if shown, err := p.isShown(ctx); err != nil || shown {
			return done, err
		}
	}
	_, _, err := p.client.Commits.SetCommitStatus(p.Repository, p.SHA, p.options(), gl.WithContext(ctx))
	if !alreadyShown(err) {
		return done, err
	}
	// GitLab refuses the status that it already shows, and earlier ones.
	shown, readErr := p.isShown(ctx)
	if readErr != nil || shown || p.Check.Phase != v1alpha1.ReportCompleted {
		return done, readErr
	}
	return done, err
}

func (p poster) options() *gl.SetCommitStatusOptions {
	return &gl.SetCommitStatusOptions{
		State: p.state(), Name: &p.Check.Name, Ref: p.ref(), PipelineID: p.pipeline(),
		TargetURL: optional(p.Check.DetailsURL), Description: &p.Check.Title,
	}
}

// maxRef is GitLab's bound. Without a ref, GitLab takes a branch that has the commit.
const maxRef = 255

func (p poster) ref() *string {
	if len(p.Branch) > maxRef {
		return nil
	}
	return optional(p.Branch)
}

func (p poster) pipeline() *int64 {
	if p.PipelineID == 0 {
		return nil
	}
	return &p.PipelineID
}

func (p poster) state() gl.BuildStateValue {
	switch p.Check.Phase {
	case v1alpha1.ReportQueued:
		return gl.Pending
	case v1alpha1.ReportInProgress:
		return gl.Running
	}
	return gl.BuildStateValue(codehost.Of(v1alpha1.GitLab).Statuses.Of(p.Check.State))
}

// isShown reports whether the newest status of the check's name shows this run's state. GitLab lists one per pipeline.
func (p poster) isShown(ctx context.Context) (bool, error) {
	list, _, err := p.client.Commits.GetCommitStatuses(p.Repository, p.SHA, &gl.GetCommitStatusesOptions{
		Name: &p.Check.Name, Ref: p.ref(), PipelineID: p.pipeline(), ListOptions: gl.ListOptions{PerPage: 100},
	}, gl.WithContext(ctx))
	var newest *gl.CommitStatus
	for _, s := range list {
		if newest == nil || s.ID > newest.ID {
			newest = s
		}
	}
	return newest != nil && newest.Status == string(p.state()) && newest.TargetURL == p.Check.DetailsURL, err
}

// alreadyShown reports whether GitLab refused a transition of a status.
func alreadyShown(err error) bool {
	var answer *gl.ErrorResponse
	return errors.As(err, &answer) && answer.HasStatusCode(http.StatusBadRequest) &&
		strings.Contains(answer.Message, "Cannot transition status")
}

func explain(err error, r report.Request) error {
	var (
		own    *report.Error
		answer *gl.ErrorResponse
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, gl.ErrNotFound):
		return report.ErrorOf("GitLab", r, http.StatusNotFound, http.Header{}, "Not Found")
	case !errors.As(err, &answer) || answer.Response == nil:
		return report.NoAnswer("GitLab", err)
	case answer.Response.StatusCode/100 == 3:
		return &report.Error{Kind: report.Rejected, Message: fmt.Sprintf(
			"GitLab redirects requests for %s, and Postflight follows no redirect; if it was moved, change spec.repository.name of the Trigger",
			r.Repository)}
	default:
		return report.ErrorOf("GitLab", r, answer.Response.StatusCode, answer.Response.Header, answer.Message)
	}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/internal/codehost/thread"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// PullRequest returns the pull request of a commit, or nil. The error is a *report.Error.
func (h *Host) PullRequest(ctx context.Context, r report.Request) (*report.PullRequest, error) {
	return with(ctx, h, r, func(p poster) (*report.PullRequest, error) { return p.pullRequest(ctx) })
}

func (p poster) pullRequest(ctx context.Context) (*report.PullRequest, error) {
	if number := p.PullRequest; number != 0 {
		known, _, err := p.client.PullRequests.Get(ctx, p.owner, p.name, int(number))
		if err != nil {
			return nil, err
		}
		return new(pullRequestOf(known)), nil
	}
	list, _, err := p.client.PullRequests.ListPullRequestsWithCommit(ctx, p.owner, p.name, p.SHA, &gh.ListOptions{PerPage: 100})
	if err != nil {
		return nil, err
	}
	var found []report.PullRequest
	for _, known := range list {
		if commit.SameRepository(known.GetBase().GetRepo().GetFullName(), p.Repository) {
			found = append(found, pullRequestOf(known))
		}
	}
	return report.ChoosePullRequest(found, p.Target), nil
}

func pullRequestOf(p *gh.PullRequest) report.PullRequest {
	return report.PullRequest{
		Number: int64(p.GetNumber()), URL: p.GetHTMLURL(), Open: p.GetState() == "open",
		Branch: p.GetHead().GetRef(), SHA: p.GetHead().GetSHA(),
		Fork: !commit.SameRepository(p.GetHead().GetRepo().GetFullName(), p.GetBase().GetRepo().GetFullName()),
	}
}

// Comment makes a pull request show a comment, and returns its id. The error is a *report.Error.
func (h *Host) Comment(ctx context.Context, r report.CommentRequest) (id int64, err error) {
	return with(ctx, h, r.Request, func(p poster) (int64, error) { return thread.Show(ctx, r, comments{p, r.Number}) })
}

type comments struct {
	poster
	number int64
}

// comment also has the App, which go-github does not decode.
type comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	} `json:"user"`
	App *struct {
		ID int64 `json:"id"`
	} `json:"performed_via_github_app"`
}

func (c *comment) posted() *thread.Comment {
	p := &thread.Comment{ID: c.ID, Body: c.Body, AuthorID: c.User.ID}
	if c.App != nil && c.User.Type == "Bot" { // a person can also write through the App
		p.AppID = c.App.ID
	}
	return p
}

func (c comments) Get(ctx context.Context, id int64) (*thread.Comment, error) {
	known := &comment{}
	err := c.get(ctx, fmt.Sprintf("repos/%s/%s/issues/comments/%d", c.owner, c.name, id), known)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return known.posted(), nil
}

func (c comments) List(ctx context.Context, page int) ([]thread.Comment, error) {
	var list []*comment
	path := fmt.Sprintf("repos/%s/%s/issues/%d/comments?per_page=%d&page=%d", c.owner, c.name, c.number, thread.PerPage, page)
	err := c.get(ctx, path, &list)
	var posted []thread.Comment
	for _, known := range list {
		posted = append(posted, *known.posted())
	}
	return posted, err
}

func (c comments) Me(ctx context.Context) (int64, error) {
	me, _, err := c.client.Users.Get(ctx, "")
	return me.GetID(), err
}

func (c comments) Create(ctx context.Context, body string) (*thread.Comment, error) {
	created, _, err := c.client.Issues.CreateComment(ctx, c.owner, c.name, int(c.number), &gh.IssueComment{Body: &body})
	return &thread.Comment{ID: created.GetID(), AuthorID: created.GetUser().GetID()}, err
}

func (c comments) Edit(ctx context.Context, id int64, body string) error {
	_, _, err := c.client.Issues.EditComment(ctx, c.owner, c.name, id, &gh.IssueComment{Body: &body})
	return err
}

func (c comments) Delete(ctx context.Context, id int64) error {
	_, err := c.client.Issues.DeleteComment(ctx, c.owner, c.name, id)
	return ignoreNotFound(err)
}

func (c comments) get(ctx context.Context, path string, into any) error {
	r, err := c.client.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	_, err = c.client.Do(r, into)
	return err
}

func ignoreNotFound(err error) error {
	var answer *gh.ErrorResponse
	if errors.As(err, &answer) && (answer.Response.StatusCode == http.StatusNotFound || answer.Response.StatusCode == http.StatusGone) {
		return nil
	}
	return err
}

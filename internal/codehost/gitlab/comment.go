package gitlab

import (
	"context"
	"errors"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/postflight-dev/postflight/internal/codehost/thread"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// PullRequest returns the merge request of a commit, or nil. The error is a *report.Error.
func (h *Host) PullRequest(ctx context.Context, r report.Request) (*report.PullRequest, error) {
	return with(h, r, func(p poster) (*report.PullRequest, error) { return p.mergeRequest(ctx) })
}

func (p poster) mergeRequest(ctx context.Context) (*report.PullRequest, error) {
	if number := p.PullRequest; number != 0 {
		known, _, err := p.client.MergeRequests.GetMergeRequest(p.Repository, number, nil, gl.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		return new(pullRequestOf(&known.BasicMergeRequest)), nil
	}
	list, _, err := p.client.Commits.ListMergeRequestsByCommit(p.Repository, p.SHA, gl.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	var found []report.PullRequest
	for _, known := range list {
		found = append(found, pullRequestOf(known))
	}
	return report.ChoosePullRequest(found, p.Target), nil
}

func pullRequestOf(m *gl.BasicMergeRequest) report.PullRequest {
	return report.PullRequest{
		Number: m.IID, URL: m.WebURL, Open: m.State == "opened", Branch: m.SourceBranch, SHA: m.SHA,
		Fork: m.SourceProjectID == 0 || m.SourceProjectID != m.TargetProjectID,
	}
}

// Comment makes a merge request show a comment, and returns its id. The error is a *report.Error.
func (h *Host) Comment(ctx context.Context, r report.CommentRequest) (id int64, err error) {
	return with(h, r.Request, func(p poster) (int64, error) { return thread.Show(ctx, r, comments{p, r.Number}) })
}

type comments struct {
	poster
	number int64
}

func posted(n *gl.Note) *thread.Comment {
	return &thread.Comment{ID: n.ID, Body: n.Body, AuthorID: n.Author.ID}
}

func (c comments) Get(ctx context.Context, id int64) (*thread.Comment, error) {
	known, _, err := c.client.Notes.GetMergeRequestNote(c.Repository, c.number, id, gl.WithContext(ctx))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return posted(known), nil
}

func (c comments) List(ctx context.Context, page int) ([]thread.Comment, error) {
	list, _, err := c.client.Notes.ListMergeRequestNotes(c.Repository, c.number, &gl.ListMergeRequestNotesOptions{
		ListOptions: gl.ListOptions{PerPage: thread.PerPage, Page: int64(page)}, OrderBy: new("created_at"), Sort: new("asc"),
	}, gl.WithContext(ctx))
	var all []thread.Comment
	for _, known := range list {
		all = append(all, *posted(known))
	}
	return all, err
}

func (c comments) Me(ctx context.Context) (int64, error) {
	me, _, err := c.client.Users.CurrentUser(gl.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	return me.ID, nil
}

func (c comments) Create(ctx context.Context, body string) (*thread.Comment, error) {
	created, _, err := c.client.Notes.CreateMergeRequestNote(c.Repository, c.number,
		&gl.CreateMergeRequestNoteOptions{Body: &body}, gl.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return posted(created), nil
}

func (c comments) Edit(ctx context.Context, id int64, body string) error {
	_, _, err := c.client.Notes.UpdateMergeRequestNote(c.Repository, c.number, id,
		&gl.UpdateMergeRequestNoteOptions{Body: &body}, gl.WithContext(ctx))
	return err
}

func (c comments) Delete(ctx context.Context, id int64) error {
	_, err := c.client.Notes.DeleteMergeRequestNote(c.Repository, c.number, id, gl.WithContext(ctx))
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if errors.Is(err, gl.ErrNotFound) {
		return nil
	}
	return err
}

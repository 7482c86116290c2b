package gitlab

import (
	"context"
	"errors"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/postflight-dev/postflight/internal/report"
)

// maxPages bounds how far a comment is looked for, at 100 comments a page.
const maxPages = 10

// PullRequest finds the merge request of a commit; nil if there is none. The error is a *report.Error.
func (h *Host) PullRequest(ctx context.Context, r report.Request) (found *report.PullRequest, err error) {
	err = h.with(r, func(p poster) (err error) {
		found, err = p.mergeRequest(ctx)
		return err
	})
	return found, err
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
	return report.PullRequest{Number: m.IID, URL: m.WebURL, Open: m.State == "opened", Branch: m.SourceBranch, SHA: m.SHA}
}

// Comment makes a merge request show a comment, and returns its number. The error is a *report.Error.
func (h *Host) Comment(ctx context.Context, r report.CommentRequest) (id int64, err error) {
	err = h.with(r.Request, func(p poster) (err error) {
		id, err = commenter{poster: p, want: r}.comment(ctx)
		return err
	})
	return id, err
}

// commenter keeps one comment. Only those of its own are considered: anybody can write the marker.
type commenter struct {
	poster
	want report.CommentRequest
}

func (c commenter) comment(ctx context.Context) (int64, error) {
	if c.want.ID != 0 {
		known, _, err := c.client.Notes.GetMergeRequestNote(c.Repository, c.want.Number, c.want.ID, gl.WithContext(ctx))
		if err == nil {
			return known.ID, c.edit(ctx, known)
		}
		if !errors.Is(err, gl.ErrNotFound) {
			return 0, err
		}
	}
	found, err := c.find(ctx, 0)
	switch {
	case err != nil:
		return 0, err
	case found != nil:
		return found.ID, c.edit(ctx, found)
	default:
		return c.create(ctx)
	}
}

// create also looks for a comment that another leader created at the same time. Both keep the older one.
func (c commenter) create(ctx context.Context) (int64, error) {
	created, _, err := c.client.Notes.CreateMergeRequestNote(c.Repository, c.want.Number,
		&gl.CreateMergeRequestNoteOptions{Body: &c.want.Body}, gl.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	oldest, err := c.find(ctx, created.Author.ID)
	if err != nil || oldest == nil || oldest.ID >= created.ID {
		return created.ID, err
	}
	_, err = c.client.Notes.DeleteMergeRequestNote(c.Repository, c.want.Number, created.ID, gl.WithContext(ctx))
	if err != nil && !errors.Is(err, gl.ErrNotFound) {
		return 0, err
	}
	return oldest.ID, c.edit(ctx, oldest)
}

func (c commenter) edit(ctx context.Context, shown *gl.Note) error {
	if strings.TrimSpace(shown.Body) == strings.TrimSpace(c.want.Body) {
		return nil
	}
	_, _, err := c.client.Notes.UpdateMergeRequestNote(c.Repository, c.want.Number, shown.ID,
		&gl.UpdateMergeRequestNoteOptions{Body: &c.want.Body}, gl.WithContext(ctx))
	return err
}

// find is the oldest comment with the marker of an author, or of whoever has the credentials.
func (c commenter) find(ctx context.Context, author int64) (*gl.Note, error) {
	for page := int64(1); page <= maxPages; page++ {
		list, _, err := c.client.Notes.ListMergeRequestNotes(c.Repository, c.want.Number, &gl.ListMergeRequestNotesOptions{
			ListOptions: gl.ListOptions{PerPage: 100, Page: page}, OrderBy: new("created_at"), Sort: new("asc"),
		}, gl.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		for _, candidate := range list {
			if !strings.HasPrefix(candidate.Body, c.want.Marker) {
				continue
			}
			if own, err := c.isOwn(ctx, candidate, &author); own || err != nil {
				return candidate, err
			}
		}
		if len(list) < 100 {
			return nil, nil
		}
	}
	return nil, nil
}

func (c commenter) isOwn(ctx context.Context, candidate *gl.Note, author *int64) (bool, error) {
	if *author == 0 {
		me, _, err := c.client.Users.CurrentUser(gl.WithContext(ctx))
		if err != nil {
			return false, err
		}
		*author = me.ID
	}
	return candidate.Author.ID == *author, nil
}

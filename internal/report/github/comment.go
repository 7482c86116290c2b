package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/internal/report"
)

// maxPages bounds how far a comment is looked for, at 100 comments a page.
const maxPages = 10

// PullRequest finds the pull request of a commit; nil if there is none. The error is a *report.Error.
func (h *Host) PullRequest(ctx context.Context, r report.Request) (found *report.PullRequest, err error) {
	err = h.with(ctx, r, func(p poster) (err error) {
		found, err = p.pullRequest(ctx)
		return err
	})
	return found, err
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
		if strings.EqualFold(known.GetBase().GetRepo().GetFullName(), p.Repository) {
			found = append(found, pullRequestOf(known))
		}
	}
	return report.ChoosePullRequest(found, p.Target), nil
}

func pullRequestOf(p *gh.PullRequest) report.PullRequest {
	return report.PullRequest{
		Number: int64(p.GetNumber()), URL: p.GetHTMLURL(), Open: p.GetState() == "open",
		Branch: p.GetHead().GetRef(), SHA: p.GetHead().GetSHA(),
	}
}

// Comment makes a pull request show a comment, and returns its number. The error is a *report.Error.
func (h *Host) Comment(ctx context.Context, r report.CommentRequest) (id int64, err error) {
	err = h.with(ctx, r.Request, func(p poster) (err error) {
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

// comment is a comment with what go-github does not know.
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

func (c commenter) comment(ctx context.Context) (int64, error) {
	if c.want.ID != 0 {
		known := &comment{}
		err := c.get(ctx, fmt.Sprintf("repos/%s/%s/issues/comments/%d", c.owner, c.name, c.want.ID), known)
		if err == nil {
			return known.ID, c.edit(ctx, known)
		}
		if !isNotFound(err) {
			return 0, err
		}
	}
	found, err := c.find(ctx, nil)
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
	created, _, err := c.client.Issues.CreateComment(ctx, c.owner, c.name, int(c.want.Number), &gh.IssueComment{Body: &c.want.Body})
	if err != nil {
		return 0, err
	}
	oldest, err := c.find(ctx, created.GetUser())
	if err != nil || oldest == nil || oldest.ID >= created.GetID() {
		return created.GetID(), err
	}
	if _, err := c.client.Issues.DeleteComment(ctx, c.owner, c.name, created.GetID()); err != nil && !isNotFound(err) {
		return 0, err
	}
	return oldest.ID, c.edit(ctx, oldest)
}

func (c commenter) edit(ctx context.Context, shown *comment) error {
	if sameText(shown.Body, c.want.Body) {
		return nil
	}
	_, _, err := c.client.Issues.EditComment(ctx, c.owner, c.name, shown.ID, &gh.IssueComment{Body: &c.want.Body})
	return err
}

// find is the oldest comment with the marker of this author. Whoever has the credentials is asked for only if a
// comment has the marker.
func (c commenter) find(ctx context.Context, author *gh.User) (*comment, error) {
	for page := 1; page <= maxPages; page++ {
		var list []*comment
		err := c.get(ctx, fmt.Sprintf("repos/%s/%s/issues/%d/comments?per_page=100&page=%d", c.owner, c.name, c.want.Number, page), &list)
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

// isOwn reports whether the credentials wrote a comment.
func (c commenter) isOwn(ctx context.Context, candidate *comment, author **gh.User) (own bool, err error) {
	if c.Credentials.IsApp() {
		return candidate.App != nil && candidate.App.ID == c.Credentials.AppID && candidate.User.Type == "Bot", nil
	}
	if *author == nil {
		if *author, _, err = c.client.Users.Get(ctx, ""); err != nil {
			return false, err
		}
	}
	return candidate.User.ID == (*author).GetID(), nil
}

func (c commenter) get(ctx context.Context, path string, into any) error {
	r, err := c.client.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	_, err = c.client.Do(r, into)
	return err
}

// sameText ignores what code hosts change about the ends of lines.
func sameText(a, b string) bool {
	plain := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

func isNotFound(err error) bool {
	var answer *gh.ErrorResponse
	return errors.As(err, &answer) && (answer.Response.StatusCode == http.StatusNotFound || answer.Response.StatusCode == http.StatusGone)
}

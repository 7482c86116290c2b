package github

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/command"
)

// mayWrite are the permissions that let people push. GitHub counts the role maintain, and roles of an organization, as one of them.
var mayWrite = []string{"admin", "maintain", "write"}

// Said returns what GitHub says about a comment and its author now, or nil if there is no such comment. The error is a *report.Error.
func (h *Host) Said(ctx context.Context, q command.Question) (*command.Said, error) {
	q.Purpose = report.Comments
	return with(ctx, h, q.Request, func(p poster) (*command.Said, error) { return p.said(ctx, q.CommentID) })
}

// saidComment has what tells whether a comment is as it was written, and where.
type saidComment struct {
	comment
	IssueURL  string    `json:"issue_url"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Author    struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"user"`
}

func (p poster) said(ctx context.Context, id int64) (*command.Said, error) {
	c := &saidComment{}
	on := comments{p, p.PullRequest}
	if err := on.get(ctx, fmt.Sprintf("repos/%s/%s/issues/comments/%d", p.owner, p.name, id), c); err != nil {
		return nil, ignoreNotFound(err)
	}
	if c.ID != id {
		return nil, nil
	}
	said := &command.Said{
		Body: c.Body, AuthorID: c.Author.ID, Author: line(c.Author.Login), CreatedAt: c.CreatedAt,
		Edited: !c.UpdatedAt.Equal(c.CreatedAt), Bot: c.Author.Type != "User" || c.App != nil,
	}
	if strings.HasSuffix(c.IssueURL, fmt.Sprintf("/issues/%d", p.PullRequest)) {
		said.Number = p.PullRequest
	}
	if said.Bot || said.Number == 0 || c.Author.Login == "" {
		return said, nil
	}
	var err error
	said.MayWrite, err = on.mayWrite(ctx, c.Author.Login, c.Author.ID)
	return said, err
}

// mayWrite asks for a name, and compares the number: a name can go to another user.
func (c comments) mayWrite(ctx context.Context, login string, id int64) (bool, error) {
	var has struct {
		Permission string `json:"permission"`
		User       struct {
			ID int64 `json:"id"`
		} `json:"user"`
	}
	err := c.get(ctx, fmt.Sprintf("repos/%s/%s/collaborators/%s/permission", c.owner, c.name, url.PathEscape(login)), &has)
	return err == nil && has.User.ID == id && slices.Contains(mayWrite, has.Permission), ignoreNotFound(err)
}

// reactions are what GitHub calls them.
var reactions = map[command.Reaction]string{command.Done: "+1", command.Seen: "eyes", command.Confused: "confused"}

// React adds a reaction to a comment, once. The error is a *report.Error.
func (h *Host) React(ctx context.Context, q command.Question, reaction command.Reaction) error {
	q.Purpose = report.Comments
	_, err := with(ctx, h, q.Request, func(p poster) (struct{}, error) {
		_, _, err := p.client.Reactions.CreateIssueCommentReaction(ctx, p.owner, p.name, q.CommentID, reactions[reaction])
		return struct{}{}, err
	})
	return err
}

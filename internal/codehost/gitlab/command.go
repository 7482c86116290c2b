package gitlab

import (
	"context"
	"regexp"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/command"
)

// tokenUser is the name that GitLab gives to the user of an access token of a project or a group.
var tokenUser = regexp.MustCompile(`^(project|group)_[0-9]+_bot(_[0-9a-f]+)?[0-9]*$`)

// Said returns what GitLab says about a comment and its author now, or nil if there is no such comment. It does not say whether a comment
// was edited: a reaction changes updated_at, too, so the text of the event counts. The error is a *report.Error.
func (h *Host) Said(ctx context.Context, q command.Question) (*command.Said, error) {
	q.Purpose = report.Comments
	return with(h, q.Request, func(p poster) (*command.Said, error) { return p.said(ctx, q.CommentID) })
}

func (p poster) said(ctx context.Context, id int64) (*command.Said, error) {
	n, _, err := p.client.Notes.GetMergeRequestNote(p.Repository, p.PullRequest, id, gl.WithContext(ctx))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	if n.ID != id || n.CreatedAt == nil {
		return nil, nil
	}
	said := &command.Said{
		Body: n.Body, Number: p.PullRequest, AuthorID: n.Author.ID, Author: line(n.Author.Username), CreatedAt: *n.CreatedAt,
		Bot: n.System || tokenUser.MatchString(n.Author.Username),
	}
	if !said.Bot && said.AuthorID > 0 {
		said.MayWrite, err = p.mayWrite(ctx, said.AuthorID)
	}
	return said, err
}

// mayWrite reports whether a user is at least a Developer, also by a group that has the project.
func (p poster) mayWrite(ctx context.Context, user int64) (bool, error) {
	member, _, err := p.client.ProjectMembers.GetInheritedProjectMember(p.Repository, user, gl.WithContext(ctx))
	if err != nil {
		return false, ignoreNotFound(err)
	}
	return member.ID == user && member.State == "active" && member.AccessLevel >= gl.DeveloperPermissions, nil
}

// reactions are what GitLab calls them.
var reactions = map[command.Reaction]string{command.Done: "thumbsup", command.Seen: "eyes", command.Confused: "confused"}

// React adds a reaction to a comment, once. The error is a *report.Error.
func (h *Host) React(ctx context.Context, q command.Question, reaction command.Reaction) error {
	q.Purpose = report.Comments
	_, err := with(h, q.Request, func(p poster) (struct{}, error) {
		_, _, err := p.client.AwardEmoji.CreateMergeRequestAwardEmojiOnNote(p.Repository, p.PullRequest, q.CommentID,
			&gl.CreateAwardEmojiOptions{Name: reactions[reaction]}, gl.WithContext(ctx))
		return struct{}{}, ignoreNotFound(err) // GitLab answers 404 if the user has reacted so before
	})
	return err
}

package github

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// issueComment has what matters of a comment on an issue or a pull request.
type issueComment struct {
	Issue struct {
		Number      int64          `json:"number"`
		PullRequest jsontext.Value `json:"pull_request"` // absent for an issue
	} `json:"issue"`
	Comment struct {
		ID   int64  `json:"id"`
		Body string `json:"body"`
		User struct {
			ID int64 `json:"id"`
		} `json:"user"`
	} `json:"comment"`
}

func (p payload) comment(e event.Event, body []byte) (event.Event, error) {
	if p.Action != "created" {
		e.Ignored = fmt.Sprintf("The action of the comment is %q; only a comment that is created can have a command.",
			plaintext.Line(p.Action, maxShown))
		return e, nil
	}
	c, err := read[issueComment](body)
	switch {
	case err != nil:
		return e, err
	case c.Issue.PullRequest.Kind() != jsontext.KindBeginObject:
		e.Ignored = "The comment is on an issue; only comments on pull requests can have a command."
	case c.Issue.Number < 1 || c.Comment.ID < 1 || c.Comment.User.ID < 1 || p.Repository.FullName == "":
		return e, &event.InvalidError{Reason: "The event lacks issue.number, comment.id, comment.user.id or repository.full_name."}
	default:
		e.Comment = &event.Comment{Number: c.Issue.Number, ID: c.Comment.ID, Body: c.Comment.Body, Author: c.Comment.User.ID}
	}
	return e, nil
}

type pullRequest struct {
	Number int64 `json:"number"`
}

func (p payload) closed(e event.Event, body []byte) (event.Event, error) {
	if p.Action != "closed" {
		e.Ignored = fmt.Sprintf("The action of the pull request is %q; only closed ends something.", plaintext.Line(p.Action, maxShown))
		return e, nil
	}
	request, err := read[pullRequest](body)
	switch {
	case err != nil:
		return e, err
	case request.Number < 1 || p.Repository.FullName == "":
		return e, &event.InvalidError{Reason: "The event lacks the number of the pull request or repository.full_name."}
	}
	e.Closed = request.Number
	return e, nil
}

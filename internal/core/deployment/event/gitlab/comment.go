package gitlab

import (
	"fmt"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// noteHook has what matters of a comment. Since GitLab 16.11, it has an action.
type noteHook struct {
	project
	Note struct {
		ID     int64  `json:"id"`
		Text   string `json:"note"`
		On     string `json:"noteable_type"` //nolint:misspell // GitLab's name
		Action string `json:"action"`
		System bool   `json:"system"`
		Author int64  `json:"author_id"`
	} `json:"object_attributes"`
	MergeRequest struct {
		Number int64 `json:"iid"`
	} `json:"merge_request"`
}

type project struct {
	Project struct {
		Path string `json:"path_with_namespace"`
	} `json:"project"`
}

func comment(e event.Event, body []byte) (event.Event, error) {
	p, err := read[noteHook](body)
	if err != nil {
		return e, err
	}
	e.Repository = plaintext.Line(p.Project.Path, notification.MaxTextBytes)
	n := p.Note
	switch {
	case n.System || n.On != "MergeRequest":
		e.Ignored = "Only comments of people on merge requests can have a command."
	case n.Action != "create":
		e.Ignored = fmt.Sprintf("The action of the comment is %q; only create, which GitLab sends since 16.11, can have a command.",
			plaintext.Line(n.Action, maxShown))
	case n.ID < 1 || n.Author < 1 || p.MergeRequest.Number < 1 || p.Project.Path == "":
		return e, &event.InvalidError{Reason: "The event lacks the id or the author_id of the comment, the iid of the merge request, " +
			"or the project."}
	default:
		e.Comment = &event.Comment{Number: p.MergeRequest.Number, ID: n.ID, Body: n.Text, Author: n.Author}
	}
	return e, nil
}

type mergeRequestHook struct {
	project
	MergeRequest struct {
		Number int64  `json:"iid"`
		Action string `json:"action"`
	} `json:"object_attributes"`
}

func closed(e event.Event, body []byte) (event.Event, error) {
	p, err := read[mergeRequestHook](body)
	if err != nil {
		return e, err
	}
	e.Repository = plaintext.Line(p.Project.Path, notification.MaxTextBytes)
	switch action := p.MergeRequest.Action; {
	case action != "close" && action != "merge":
		e.Ignored = fmt.Sprintf("The action of the merge request is %q; only close and merge end something.", plaintext.Line(action, maxShown))
	case p.MergeRequest.Number < 1 || p.Project.Path == "":
		return e, &event.InvalidError{Reason: "The event lacks the iid of the merge request or the project."}
	default:
		e.Closed = p.MergeRequest.Number
	}
	return e, nil
}

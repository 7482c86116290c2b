package codehost

import (
	"cmp"
	"slices"
	"time"
)

// The people who write comments, beside Stranger, and what they may do.
const (
	Writer = 504
	Reader = 505
	Bot    = 506
)

// people have a name, and a permission as GitHub calls it.
var people = map[int64]struct{ login, permission string }{
	Stranger: {"mallory", "none"}, Writer: {"alice", "write"}, Reader: {"rita", "read"}, Bot: {"project_7_bot_0f0f", "write"},
	tokenUser: {"jo", "write"}, appUser: {"postflight[bot]", "none"},
}

// levels are what GitLab calls the permissions.
var levels = map[string]int{"read": 20, "write": 30}

// Remark is a comment of a person on a pull request.
type Remark struct {
	Repository string
	Number, ID int64
	Author     int64
	Body       string
	At         time.Time
}

// Remark adds a comment of a person, written at a time in whole seconds; the zero time is now.
func (h *Host) Remark(repository string, number, author int64, body string, at time.Time) Remark {
	if at.IsZero() {
		at = time.Now()
	}
	at = at.UTC().Truncate(time.Second)
	id := h.Say(repository, number, author, body)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.ID == id {
			c.at, c.changed = at, at
		}
	}
	return Remark{Repository: repository, Number: number, ID: id, Author: author, Body: body, At: at}
}

// EditRemark changes a comment of a person.
func (h *Host) EditRemark(id int64, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.ID == id {
			c.Body, c.changed = body, c.at.Add(time.Second)
		}
	}
}

// Reactions are those to a comment, without duplicates, as the host calls them.
func (h *Host) Reactions(id int64) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.ID == id {
			return slices.Clone(c.reactions)
		}
	}
	return nil
}

// Change changes a pull request, such as its head.
func (h *Host) Change(number int64, change func(*PullRequest)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.pullRequests {
		if h.pullRequests[i].Number == number {
			change(&h.pullRequests[i])
		}
	}
}

// Event is what GitHub sends about a new comment.
func (r Remark) Event() Event { return r.GitHubEvent("created") }

// GitHubEvent is what GitHub sends about a comment: created, edited or deleted.
func (r Remark) GitHubEvent(action string) Event {
	return newEvent("issue_comment", r.Repository, map[string]any{
		"action": action,
		"issue":  map[string]any{"number": r.Number, "pull_request": map[string]any{"url": "https://api.github.com/pulls"}},
		"comment": map[string]any{
			"id": r.ID, "body": r.Body, "created_at": r.At.Format(time.RFC3339), "updated_at": r.At.Format(time.RFC3339),
			"user": map[string]any{"id": r.Author, "login": people[r.Author].login, "type": "User"},
		},
	})
}

// ClosedEvent is what GitHub sends about a pull request that was closed.
func ClosedEvent(repository string, number int64) Event {
	return newEvent("pull_request", repository, map[string]any{
		"action": "closed", "number": number, "pull_request": map[string]any{"number": number, "state": "closed", "merged": true},
	})
}

// NoteHook is the body that GitLab sends about a comment: create or update.
func (r Remark) NoteHook(action string) map[string]any {
	return map[string]any{
		"object_kind": "note", "event_type": "note", "project": map[string]any{"path_with_namespace": r.Repository},
		"user": map[string]any{"id": r.Author, "username": people[r.Author].login},
		"object_attributes": map[string]any{
			"id": r.ID, "note": r.Body, "action": action, "system": false, "author_id": r.Author,
			"noteable_type": "MergeRequest", //nolint:misspell // GitLab's name
			"created_at":    r.At.Format("2006-01-02 15:04:05 UTC"), "updated_at": r.At.Format("2006-01-02 15:04:05 UTC"),
		},
		"merge_request": map[string]any{"iid": r.Number, "state": "opened"},
	}
}

// MergeRequestHook is the body that GitLab sends about a merge request: open, close, merge or another action.
func MergeRequestHook(repository string, number int64, action string) map[string]any {
	return map[string]any{
		"object_kind": "merge_request", "project": map[string]any{"path_with_namespace": repository},
		"object_attributes": map[string]any{"iid": number, "action": action},
	}
}

// addReaction reports whether the reaction is new.
func (c *comment) addReaction(content string) bool {
	if slices.Contains(c.reactions, content) {
		return false
	}
	c.reactions = append(c.reactions, content)
	return true
}

func (p PullRequest) headRepository(own string) string { return cmp.Or(p.HeadRepository, own) }

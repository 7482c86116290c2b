package codehost

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

var gitLabComments = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /api/v4/user": (*Host).currentUser,
	"GET /api/v4/projects/{id}/merge_requests/{number}":                    (*Host).mergeRequest,
	"GET /api/v4/projects/{id}/repository/commits/{sha}/merge_requests":    (*Host).mergeRequestsOfCommit,
	"GET /api/v4/projects/{id}/merge_requests/{number}/notes":              (*Host).notes,
	"POST /api/v4/projects/{id}/merge_requests/{number}/notes":             (*Host).createNote,
	"GET /api/v4/projects/{id}/merge_requests/{number}/notes/{comment}":    (*Host).note,
	"PUT /api/v4/projects/{id}/merge_requests/{number}/notes/{comment}":    (*Host).updateNote,
	"DELETE /api/v4/projects/{id}/merge_requests/{number}/notes/{comment}": (*Host).deleteNote,
}

func (h *Host) currentUser(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasToken(w, r) {
		answer(w, http.StatusOK, map[string]any{"id": tokenUser, "username": "jo"})
	}
}

func (h *Host) mergeRequest(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) {
		return
	}
	p := h.pullRequest(r.PathValue("number"))
	if p == nil {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	answer(w, http.StatusOK, p.asGitLab(r.PathValue("id")))
}

func (h *Host) mergeRequestsOfCommit(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) {
		return
	}
	found := []map[string]any{}
	for _, p := range h.pullRequests {
		if p.SHA == r.PathValue("sha") {
			found = append(found, p.asGitLab(r.PathValue("id")))
		}
	}
	answer(w, http.StatusOK, found)
}

func (p PullRequest) asGitLab(project string) map[string]any {
	state := "opened"
	if p.Closed {
		state = "merged"
	}
	source := 1
	if p.HeadRepository != "" {
		source = 2
	}
	return map[string]any{
		"source_project_id": source, "target_project_id": 1,
		"iid": p.Number, "state": state, "source_branch": p.Branch, "sha": p.SHA,
		"web_url": fmt.Sprintf("https://gitlab.com/%s/-/merge_requests/%d", project, p.Number),
	}
}

func (c *comment) asGitLab() map[string]any {
	return map[string]any{
		"id": c.ID, "body": c.Body, "author": map[string]any{"id": c.author, "username": people[c.author].login},
		"system": false, "created_at": c.at.Format(time.RFC3339Nano), "updated_at": c.changed.Format(time.RFC3339Nano),
	}
}

func (h *Host) notes(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) {
		return
	}
	found := []map[string]any{}
	for _, c := range h.commentsOf(r, func(c *comment) bool {
		return c.repository == r.PathValue("id") && strconv.FormatInt(c.number, 10) == r.PathValue("number")
	}) {
		found = append(found, c.asGitLab())
	}
	answer(w, http.StatusOK, found)
}

func (h *Host) createNote(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) || h.limited(w) {
		return
	}
	p := h.pullRequest(r.PathValue("number"))
	if p == nil {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	c := &comment{ID: h.id(), number: p.Number, repository: r.PathValue("id"), Body: text(read(r), "body"), author: tokenUser}
	h.comments = append(h.comments, c)
	h.add(Write{Repository: c.repository, Name: "comment", State: "created", Description: c.Body, id: c.ID})
	answer(w, http.StatusCreated, c.asGitLab())
}

func (h *Host) withNote(w http.ResponseWriter, r *http.Request, writes bool, do func(*comment)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) || writes && h.limited(w) {
		return
	}
	c := h.comment(r.PathValue("id"), r.PathValue("comment"))
	if c == nil {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	if writes && c.author != tokenUser {
		h.t.Errorf("the comment of somebody else is changed: %q", c.Body)
	}
	do(c)
}

func (h *Host) note(w http.ResponseWriter, r *http.Request) {
	h.withNote(w, r, false, func(c *comment) { answer(w, http.StatusOK, c.asGitLab()) })
}

func (h *Host) updateNote(w http.ResponseWriter, r *http.Request) {
	h.withNote(w, r, true, func(c *comment) {
		c.Body = text(read(r), "body")
		h.add(Write{Repository: c.repository, Name: "comment", State: "edited", Description: c.Body, id: c.ID})
		answer(w, http.StatusOK, c.asGitLab())
	})
}

func (h *Host) deleteNote(w http.ResponseWriter, r *http.Request) {
	h.withNote(w, r, true, func(c *comment) { h.deleteComment(w, c) })
}

package codehost

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

var gitHubComments = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /user":                                              (*Host).user,
	"GET /repos/{owner}/{repo}/pulls/{id}":                   (*Host).getPull,
	"GET /repos/{owner}/{repo}/commits/{sha}/pulls":          (*Host).pullsOfCommit,
	"POST /repos/{owner}/{repo}/issues/{id}/comments":        (*Host).createIssueComment,
	"GET /repos/{owner}/{repo}/issues/{id}/{comment}":        (*Host).readIssueComments,
	"PATCH /repos/{owner}/{repo}/issues/comments/{comment}":  (*Host).editIssueComment,
	"DELETE /repos/{owner}/{repo}/issues/comments/{comment}": (*Host).deleteIssueComment,
}

func (h *Host) user(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case credential(r) == appToken:
		refuse(w, http.StatusForbidden, "Resource not accessible by integration")
	case h.permitted(w, r, false):
		answer(w, http.StatusOK, map[string]any{"id": tokenUser, "login": "jo"})
	}
}

func (h *Host) getPull(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	p := h.pullRequest(r.PathValue("id"))
	if p == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	answer(w, http.StatusOK, pullAsGitHub(*p, repository(r)))
}

func (h *Host) pullsOfCommit(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found := []map[string]any{}
	for _, p := range h.pullRequests {
		if p.SHA == r.PathValue("sha") {
			found = append(found, pullAsGitHub(p, repository(r)))
		}
	}
	answer(w, http.StatusOK, found)
}

func pullAsGitHub(p PullRequest, repository string) map[string]any {
	state := "open"
	if p.Closed {
		state = "closed"
	}
	return map[string]any{
		"number": p.Number, "state": state, "html_url": fmt.Sprintf("https://github.com/%s/pull/%d", repository, p.Number),
		"base": map[string]any{"ref": defaultBranch, "repo": map[string]any{"full_name": repository}},
		"head": map[string]any{"ref": p.Branch, "sha": p.SHA, "repo": map[string]any{"full_name": p.headRepository(repository)}},
	}
}

func (c *comment) asGitHub() map[string]any {
	kind, app := kindOf(c.author), any(nil)
	if c.app != 0 {
		kind, app = "Bot", map[string]any{"id": c.app}
	}
	return map[string]any{
		"id": c.ID, "body": c.Body, "performed_via_github_app": app,
		"user":       map[string]any{"id": c.author, "type": kind, "login": people[c.author].login},
		"issue_url":  fmt.Sprintf("https://api.github.com/repos/%s/issues/%d", c.repository, c.number),
		"created_at": c.at.Format(time.RFC3339), "updated_at": c.changed.Format(time.RFC3339),
	}
}

// readIssueComments are two operations that a ServeMux cannot tell apart.
func (h *Host) readIssueComments(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") == "comments" {
		h.issueComment(w, r)
		return
	}
	h.issueComments(w, r)
}

func (h *Host) issueComments(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found := []map[string]any{}
	for _, c := range h.commentsOf(r, func(c *comment) bool {
		return c.repository == repository(r) && strconv.FormatInt(c.number, 10) == r.PathValue("id")
	}) {
		found = append(found, c.asGitHub())
	}
	answer(w, http.StatusOK, found)
}

func (h *Host) commentsOf(r *http.Request, matches func(*comment) bool) []*comment {
	var found []*comment
	for _, c := range h.comments {
		if matches(c) {
			found = append(found, c)
		}
	}
	return page(r, found, 30)
}

func (h *Host) createIssueComment(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || h.limited(w) {
		return
	}
	p := h.pullRequest(r.PathValue("id"))
	if p == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	body := read(r)
	c := &comment{ID: h.id(), number: p.Number, repository: repository(r), Body: text(body, "body"), author: tokenUser}
	if credential(r) == appToken {
		c.author, c.app = appUser, AppID
	}
	h.comments = append(h.comments, c)
	h.add(Write{Repository: c.repository, Name: "comment", State: "created", Description: c.Body, id: c.ID})
	answer(w, http.StatusCreated, c.asGitHub())
}

func (h *Host) withComment(w http.ResponseWriter, r *http.Request, writes bool, do func(*comment)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || writes && h.limited(w) {
		return
	}
	c := h.comment(repository(r), r.PathValue("comment"))
	if c == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if writes && c.author == Stranger {
		h.t.Errorf("the comment of somebody else is changed: %q", c.Body)
	}
	do(c)
}

func (h *Host) issueComment(w http.ResponseWriter, r *http.Request) {
	h.withComment(w, r, false, func(c *comment) { answer(w, http.StatusOK, c.asGitHub()) })
}

func (h *Host) editIssueComment(w http.ResponseWriter, r *http.Request) {
	h.withComment(w, r, true, func(c *comment) {
		c.Body = text(read(r), "body")
		h.add(Write{Repository: c.repository, Name: "comment", State: "edited", Description: c.Body, id: c.ID})
		answer(w, http.StatusOK, c.asGitHub())
	})
}

func (h *Host) deleteIssueComment(w http.ResponseWriter, r *http.Request) {
	h.withComment(w, r, true, func(c *comment) { h.deleteComment(w, c) })
}

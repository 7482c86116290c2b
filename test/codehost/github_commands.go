package codehost

import (
	"net/http"
	"strings"
	"time"
)

var gitHubCommands = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /repos/{owner}/{repo}/collaborators/{login}/permission":     (*Host).collaborator,
	"POST /repos/{owner}/{repo}/issues/comments/{comment}/reactions": (*Host).reactToIssueComment,
}

func (h *Host) collaborator(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	for id, person := range people {
		if person.login == r.PathValue("login") {
			if id == h.renamed { // the name is another user's by now
				id++
			}
			answer(w, http.StatusOK, map[string]any{
				"permission": person.permission, "role_name": person.permission, "user": map[string]any{"id": id, "login": person.login},
			})
			return
		}
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

func (h *Host) reactToIssueComment(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || h.limited(w) {
		return
	}
	c := h.comment(repository(r), r.PathValue("comment"))
	if c == nil {
		notFound(w)
		return
	}
	content, status := text(read(r), "content"), http.StatusOK
	if c.addReaction(content) {
		status = http.StatusCreated
		h.add(Write{Repository: c.repository, Name: "reaction", State: content, id: c.ID})
	}
	answer(w, status, map[string]any{"id": c.ID, "node_id": "R", "user": nil, "content": content, "created_at": time.Now().UTC().Format(time.RFC3339)})
}

// Rename lets the name of a person belong to another user.
func (h *Host) Rename(person int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renamed = person
}

func kindOf(author int64) string {
	if strings.HasSuffix(people[author].login, "[bot]") || author == Bot {
		return "Bot"
	}
	return "User"
}

package codehost

import (
	"net/http"
	"strconv"
	"time"
)

var gitLabCommands = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /api/v4/projects/{id}/members/all/{user}":                                (*Host).member,
	"POST /api/v4/projects/{id}/merge_requests/{number}/notes/{note}/award_emoji": (*Host).awardEmoji,
}

func (h *Host) member(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) {
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("user"), 10, 64)
	level := levels[people[id].permission]
	if level == 0 {
		refuse(w, http.StatusNotFound, "404 Not found")
		return
	}
	answer(w, http.StatusOK, map[string]any{"id": id, "username": people[id].login, "state": "active", "access_level": level})
}

// awardEmoji changes updated_at of the comment, as GitLab does, and refuses what the user has awarded before.
func (h *Host) awardEmoji(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) || h.limited(w) {
		return
	}
	c := h.comment(r.PathValue("id"), r.PathValue("note"))
	name := text(read(r), "name")
	if c == nil || !c.addReaction(name) {
		refuse(w, http.StatusNotFound, "404 Award Emoji Name has already been taken Not Found")
		return
	}
	c.changed = time.Now().UTC()
	h.add(Write{Repository: c.repository, Name: "reaction", State: name, id: c.ID})
	answer(w, http.StatusCreated, map[string]any{"id": c.ID, "name": name, "awardable_id": c.ID, "awardable_type": "Note"})
}

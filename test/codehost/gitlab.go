package codehost

import (
	_ "embed" // the description of the API
	"fmt"
	"net/http"
	"slices"
	"testing"
)

//go:embed gitlab.yaml
var gitLabAPI []byte

// GitLab starts a fake, which accepts one token.
func GitLab(t testing.TB) *Host {
	t.Helper()
	var h *Host
	h = start(t, gitLabAPI, map[string]http.HandlerFunc{
		"POST /api/v4/projects/{id}/statuses/{sha}":                   func(w http.ResponseWriter, r *http.Request) { h.setStatus(w, r) },
		"GET /api/v4/projects/{id}/repository/commits/{sha}/statuses": func(w http.ResponseWriter, r *http.Request) { h.commitStatuses(w, r) },
	}, gitLabDeployments, gitLabComments)
	h.PerMinute, h.PerHour = 2000, 100000
	return h
}

// order of the states of a status that goes on. A later or an equal one cannot be entered again.
var order = []string{"", "pending", "running"}

// setStatus changes the status of this name that goes on, or creates one. GitLab refuses to repeat a state.
func (h *Host) setStatus(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Private-Token") != h.token {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized")
		return
	}
	if h.limited(w) {
		return
	}
	body := read(r)
	s := h.unfinished(r.PathValue("id"), r.PathValue("sha"), text(body, "name"), text(body, "ref"))
	state := text(body, "state")
	if from, to := slices.Index(order, s.Status), slices.Index(order, state); to >= 0 && to <= from {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via %q)",
			map[string]string{"pending": "enqueue", "running": "run"}[state], s.Status, state))
		return
	}
	if s.ID == 0 {
		s.ID = h.id()
		h.statuses = append(h.statuses, s)
	}
	s.Status, s.Description, s.TargetURL = state, text(body, "description"), text(body, "target_url")
	h.add(Write{Repository: s.repository, SHA: s.sha, Name: s.Name, State: s.Status, Description: s.Description, URL: s.TargetURL, Body: body, id: s.ID})
	answer(w, http.StatusCreated, s)
}

func (h *Host) unfinished(project, sha, name, ref string) *status {
	for _, s := range h.statuses {
		if s.repository == project && s.sha == sha && s.Name == name && s.Ref == ref && slices.Contains(order, s.Status) {
			return s
		}
	}
	return &status{repository: project, sha: sha, Name: name, Ref: ref}
}

func (h *Host) commitStatuses(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Private-Token") != h.token {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized")
		return
	}
	found := []*status{}
	q := r.URL.Query()
	for _, s := range h.statuses {
		if s.repository == r.PathValue("id") && s.sha == r.PathValue("sha") && (q.Get("name") == "" || s.Name == q.Get("name")) && (q.Get("ref") == "" || s.Ref == q.Get("ref")) {
			found = append(found, s)
		}
	}
	answer(w, http.StatusOK, found)
}

package codehost

import (
	"cmp"
	_ "embed" // the description of the API
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
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
	}, gitLabDeployments, gitLabComments, gitLabApprovals, gitLabCommands)
	h.PerMinute, h.PerHour = 2000, 100000
	return h
}

// defaultBranch is the one that a status without ref belongs to.
const defaultBranch = "main"

// events lead to the unfinished states, each from the state before it only. Any of them may be followed by an end.
var events = map[string]string{"pending": "enqueue", "running": "run"}

var order = []string{"", "pending", "running"}

func (s *status) goesOn() bool { return slices.Contains(order, s.state) }

// setStatus changes the unfinished status of this name, or creates one. GitLab refuses to repeat a state.
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
	s, state := h.statusOf(r, body), text(body, "state")
	if from, to := slices.Index(order, s.state), slices.Index(order, state); to >= 0 && to <= from {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via %q)",
			events[state], s.state, events[state]))
		return
	}
	if s.id == 0 {
		s.id = h.id()
		h.statuses = append(h.statuses, s)
	}
	s.state, s.description, s.targetURL, s.at = state, text(body, "description"), text(body, "target_url"), time.Now()
	h.add(Write{Repository: s.repository, SHA: s.sha, Name: s.name, State: s.state, Description: s.description, URL: s.targetURL, Body: body,
		id: s.id})
	answer(w, http.StatusCreated, s.gitLabView())
}

// statusOf returns the status of the same name, branch and pipeline. A finished one is followed by another.
func (h *Host) statusOf(r *http.Request, body map[string]any) *status {
	wanted := status{
		repository: r.PathValue("id"), sha: r.PathValue("sha"), name: text(body, "name"), ref: cmp.Or(text(body, "ref"), defaultBranch),
	}
	wanted.pipeline = 1 // the newest one of the commit
	if id, ok := body["pipeline_id"].(float64); ok {
		wanted.pipeline = int64(id)
	}
	for _, s := range h.statuses {
		if s.goesOn() && s.repository == wanted.repository && s.sha == wanted.sha && s.name == wanted.name && s.ref == wanted.ref &&
			s.pipeline == wanted.pipeline {
			return s
		}
	}
	return &wanted
}

func (h *Host) commitStatuses(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Private-Token") != h.token {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized")
		return
	}
	q := r.URL.Query()
	is := func(parameter, value string) bool { return q.Get(parameter) == "" || q.Get(parameter) == value }
	found, listed := []map[string]any{}, map[string]bool{}
	for _, s := range slices.Backward(h.statuses) {
		if s.repository != r.PathValue("id") || s.sha != r.PathValue("sha") || !is("name", s.name) || !is("ref", s.ref) ||
			!is("pipeline_id", fmt.Sprint(s.pipeline)) {
			continue
		}
		key := fmt.Sprint(s.name, s.pipeline)
		if q.Get("all") == "true" || !listed[key] {
			found = append(found, s.gitLabView())
		}
		listed[key] = true
	}
	slices.Reverse(found) // by id, the oldest first
	answer(w, http.StatusOK, page(r, found, 20))
}

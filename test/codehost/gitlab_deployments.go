package codehost

import (
	"fmt"
	"net/http"
	"slices"
)

var gitLabDeployments = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /api/v4/projects/{id}/deployments":              (*Host).projectDeployments,
	"POST /api/v4/projects/{id}/deployments":             (*Host).createProjectDeployment,
	"GET /api/v4/projects/{id}/deployments/{deployment}": (*Host).projectDeployment,
	"PUT /api/v4/projects/{id}/deployments/{deployment}": (*Host).updateProjectDeployment,
}

func (h *Host) hasToken(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Private-Token") != h.token {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized")
		return false
	}
	return true
}

func (d *deployment) asGitLab() map[string]any {
	deployable := any(nil)
	if d.ofJob {
		deployable = map[string]any{
			"id": d.ID + 1000, "ref": d.Ref, "user": map[string]any{"id": Stranger, "username": "ann"}, "pipeline": map[string]any{"ref": d.Ref},
		}
	}
	return map[string]any{
		"id": d.ID, "sha": d.SHA, "ref": d.Ref, "status": d.state(), "deployable": deployable, "environment": map[string]any{"name": d.Environment},
		"created_at": "2026-11-20T12:00:00.000Z", "user": nil,
	}
}

func (h *Host) projectDeployments(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) {
		return
	}
	found, q := []map[string]any{}, r.URL.Query()
	for _, d := range h.deployments {
		if d.repository == r.PathValue("id") && d.Environment == q.Get("environment") && (q.Get("status") == "" || q.Get("status") == d.state()) {
			found = append(found, d.asGitLab())
		}
	}
	if q.Get("sort") == "desc" {
		slices.Reverse(found)
	}
	answer(w, http.StatusOK, page(r, found, 20))
}

func (h *Host) projectDeployment(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) {
		return
	}
	d := h.deployment(r.PathValue("id"), r.PathValue("deployment"))
	if d == nil {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	view := d.asGitLab()
	if one := h.waitOf(d.repository, d.ID); one != nil { // of an instance with a license for approvals
		view["pending_approval_count"] = one.pendingApprovals()
		view["deployable"].(map[string]any)["pipeline"] = map[string]any{"ref": d.Ref, "source": one.Trigger}
	}
	answer(w, http.StatusOK, view)
}

func (h *Host) createProjectDeployment(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) || h.limited(w) {
		return
	}
	body := read(r)
	d := &deployment{ID: h.id(), repository: r.PathValue("id"), SHA: text(body, "sha"), Environment: text(body, "environment"),
		Ref: text(body, "ref")}
	d.states = []deploymentState{{ID: h.id(), State: text(body, "status")}}
	h.deployments = append(h.deployments, d)
	h.add(Write{Repository: d.repository, Name: "deployment", State: d.state(), Body: body, id: d.ID})
	answer(w, http.StatusCreated, d.asGitLab())
}

// updateProjectDeployment refuses what the state machine of GitLab does: to repeat a status, and to run again.
func (h *Host) updateProjectDeployment(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasToken(w, r) || h.limited(w) {
		return
	}
	d := h.deployment(r.PathValue("id"), r.PathValue("deployment"))
	if d == nil {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	state := text(read(r), "status")
	switch {
	case d.ofJob:
		refuse(w, http.StatusForbidden, "403 Forbidden - Deployments created using GitLab CI can not be updated using the API")
		return
	case state == d.state(), state == "running" && d.state() != "created":
		refuse(w, http.StatusBadRequest, fmt.Sprintf("Cannot transition status from %s to %s", d.state(), state))
		return
	}
	d.states = append(d.states, deploymentState{ID: h.id(), State: state})
	h.add(Write{Repository: d.repository, Name: "deployment", State: state, id: d.ID})
	answer(w, http.StatusOK, d.asGitLab())
}

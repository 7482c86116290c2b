package codehost

import (
	"fmt"
	"net/http"
	"slices"
)

var gitHubDeployments = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /repos/{owner}/{repo}/deployments":                (*Host).listDeployments,
	"POST /repos/{owner}/{repo}/deployments":               (*Host).createDeployment,
	"GET /repos/{owner}/{repo}/deployments/{id}/statuses":  (*Host).listDeploymentStatuses,
	"POST /repos/{owner}/{repo}/deployments/{id}/statuses": (*Host).createDeploymentStatus,
}

func (h *Host) listDeployments(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found, q := []map[string]any{}, r.URL.Query()
	for _, d := range slices.Backward(h.deployments) {
		if d.repository == repository(r) && d.SHA == q.Get("sha") && d.Environment == q.Get("environment") {
			found = append(found, map[string]any{"id": d.ID, "sha": d.SHA, "environment": d.Environment, "ref": d.Ref})
		}
	}
	answer(w, http.StatusOK, found)
}

// createDeployment checks what Postflight must not cause: a merge, and a refusal because of the check that it posts.
func (h *Host) createDeployment(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || h.limited(w) {
		return
	}
	body := read(r)
	contexts, given := body["required_contexts"].([]any)
	if body["auto_merge"] != false || !given || len(contexts) > 0 {
		h.t.Errorf("a deployment may merge, or waits for checks: %v", body)
	}
	d := &deployment{ID: h.id(), repository: repository(r), SHA: text(body, "ref"), Environment: text(body, "environment"),
		Ref: text(body, "ref")}
	h.deployments = append(h.deployments, d)
	h.add(Write{Repository: d.repository, Name: "deployment", State: "created", Body: body, id: d.ID})
	answer(w, http.StatusCreated, map[string]any{"id": d.ID})
}

func (h *Host) listDeploymentStatuses(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	d := h.deployment(repository(r), r.PathValue("id"))
	if d == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	newestFirst := slices.Clone(d.states)
	slices.Reverse(newestFirst)
	answer(w, http.StatusOK, newestFirst)
}

func (h *Host) createDeploymentStatus(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || h.limited(w) {
		return
	}
	d := h.deployment(repository(r), r.PathValue("id"))
	if d == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	body := read(r)
	s := deploymentState{
		ID: h.id(), State: text(body, "state"), LogURL: text(body, "log_url"),
		EnvironmentURL: text(body, "environment_url"), Description: text(body, "description"), autoInactive: body["auto_inactive"] != false,
	}
	d.states = append(d.states, s)
	if s.State == "success" && s.autoInactive {
		h.endOthers(d)
	}
	h.add(Write{
		Repository: d.repository, Name: "deployment", State: s.State, Description: s.Description, URL: s.LogURL, Body: body, id: d.ID,
	})
	answer(w, http.StatusCreated, s)
}

// endOthers makes the other successful deployments to the environment inactive, as GitHub documents auto_inactive.
func (h *Host) endOthers(newest *deployment) {
	for _, d := range h.deployments {
		if d != newest && d.repository == newest.repository && d.Environment == newest.Environment && d.state() == "success" {
			d.states = append(d.states, deploymentState{ID: h.id(), State: "inactive", Description: fmt.Sprintf("by deployment %d", newest.ID)})
		}
	}
}

func (d *deployment) state() string {
	if len(d.states) == 0 {
		return ""
	}
	return d.states[len(d.states)-1].State
}

package codehost

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

var gitLabApprovals = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"POST /api/v4/projects/{id}/deployments/{deployment}/approval": (*Host).approveDeployment,
}

func (h *Host) waitOf(repository string, deployment int64) *wait {
	found := h.waitsOf(func(w *wait) bool { return w.Repository == repository && w.DeploymentID == deployment })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// pendingApprovals counts what GitLab counts: an approval of the token's user is one of those that are required.
func (w *wait) pendingApprovals() int {
	if w.state == "approved" {
		return w.Approvals - 1
	}
	return w.Approvals
}

// approveDeployment accepts the same decision again, and another one instead, as long as the deployment waits for approvals. All refusals
// are 400, in the language of the user.
func (h *Host) approveDeployment(w http.ResponseWriter, r *http.Request) {
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
	one, body := h.waitOf(d.repository, d.ID), read(r)
	state := text(body, "status")
	switch {
	case one == nil || one.Manual:
		refuse(w, http.StatusBadRequest, "Deployment approvals is not configured for this environment.")
		return
	case one.Own && state == "approved":
		refuse(w, http.StatusBadRequest,
			"You cannot approve your own deployment. This configuration can be adjusted in the protected environment settings.")
		return
	case d.state() != "blocked" || one.pendingApprovals() == 0:
		refuse(w, http.StatusBadRequest, "This deployment is not waiting for approvals.")
		return
	}
	if one.state != state {
		one.state = state
		h.decide(Decision{Repository: d.repository, Environment: d.Environment, ID: d.ID, State: state, Comment: text(body, "comment")})
	}
	if state == "rejected" {
		h.end(one, "failed")
	}
	answer(w, http.StatusCreated, map[string]any{
		"user": map[string]any{"id": tokenUser, "username": "jo"}, "status": state, "comment": body["comment"],
		"created_at": time.Now().UTC().Format(time.RFC3339),
	})
}

// HookBody is what GitLab sends since 19.3 when a deployment is blocked.
func (w Waiting) HookBody() []byte {
	site := "https://gitlab.com/" + w.Repository
	body, err := json.Marshal(map[string]any{
		"object_kind": "deployment", "status": "blocked", "status_changed_at": time.Now().UTC().Format("2006-01-02 15:04:05 -0700"),
		"deployment_id": w.DeploymentID, "deployable_id": w.DeploymentID + 1000, "environment": w.Environment, "ref": w.Ref,
		"deployable_url": site + "/-/jobs/" + strconv.FormatInt(w.DeploymentID+1000, 10), "user": map[string]any{"username": "ann"},
		"project": map[string]any{"path_with_namespace": w.Repository, "web_url": site}, "short_sha": w.SHA[:8],
		"commit_url": site + "/-/commit/" + w.SHA, "commit_title": "Add a basket",
	})
	if err != nil {
		panic(err) // text and numbers are always JSON
	}
	return body
}

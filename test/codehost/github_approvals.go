package codehost

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var gitHubApprovals = map[string]func(*Host, http.ResponseWriter, *http.Request){
	"GET /repos/{owner}/{repo}/actions/runs/{run}":                             (*Host).workflowRun,
	"GET /repos/{owner}/{repo}/actions/runs/{run}/pending_deployments":         (*Host).pendingDeployments,
	"POST /repos/{owner}/{repo}/actions/runs/{run}/deployment_protection_rule": (*Host).reviewRule,
}

func (h *Host) ofRun(r *http.Request) []*wait {
	return h.waitsOf(func(w *wait) bool {
		return strings.EqualFold(w.Repository, repository(r)) && strconv.FormatInt(w.RunID, 10) == r.PathValue("run")
	})
}

func (h *Host) workflowRun(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	all := h.ofRun(r)
	if len(all) == 0 {
		notFound(w)
		return
	}
	run, status := all[0], "completed"
	for _, one := range all {
		if !one.decided {
			status = "waiting"
		}
	}
	named := func(name string) any {
		if name == "deleted" { // a fork that does not exist any more
			return nil
		}
		return map[string]any{"full_name": name}
	}
	answer(w, http.StatusOK, map[string]any{
		"id": run.RunID, "head_sha": run.SHA, "head_branch": run.Ref, "event": run.Trigger, "status": status, "conclusion": nil,
		"repository": named(run.Repository), "head_repository": named(run.HeadRepository), "pull_requests": []any{},
	})
}

func (h *Host) pendingDeployments(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	all := h.ofRun(r)
	if len(all) == 0 {
		notFound(w)
		return
	}
	found := []any{}
	for _, one := range all {
		if !one.decided || one.Reviewers {
			found = append(found, map[string]any{
				"environment": map[string]any{"id": 1, "name": one.Environment}, "wait_timer": 0, "wait_timer_started_at": nil,
				"current_user_can_approve": false, "reviewers": []any{},
			})
		}
	}
	answer(w, http.StatusOK, found)
}

// reviewRule decides about all that waits in the environment at that moment, as GitHub does. Its sentence about what waits no longer is
// GitHub's.
func (h *Host) reviewRule(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, true) || h.limited(w) {
		return
	}
	all, body := h.ofRun(r), read(r)
	if len(all) == 0 {
		notFound(w)
		return
	}
	d := Decision{Repository: all[0].Repository, Environment: text(body, "environment_name"), ID: all[0].RunID, State: text(body, "state"),
		Comment: text(body, "comment")}
	pending := h.waitsOf(func(one *wait) bool {
		return one.RunID == d.ID && one.Repository == d.Repository && strings.EqualFold(one.Environment, d.Environment) && !one.decided
	})
	if len(pending) == 0 {
		refuse(w, http.StatusUnprocessableEntity,
			fmt.Sprintf("No pending custom deployment requests in workflow run `%d` to approve or reject", d.ID))
		return
	}
	for _, one := range pending {
		if d.State == "" && one.reports == maxReports {
			refuse(w, http.StatusUnprocessableEntity, "The limit of status reports is reached")
			return
		}
	}
	for _, one := range pending {
		if d.State == "" {
			one.reports++
		} else {
			one.decided = true
		}
	}
	h.decide(d)
	w.WriteHeader(http.StatusNoContent)
}

// Event is what GitHub sends to the App when the deployment begins to wait.
func (w Waiting) Event() Event {
	members := map[string]any{
		"action": "requested", "environment": w.Environment, "event": w.Trigger, "sha": w.SHA, "ref": w.Ref, "pull_requests": []any{},
		"deployment_callback_url": fmt.Sprintf("https://api.github.com/repos/%s/actions/runs/%d/deployment_protection_rule", w.Repository, w.RunID),
		"installation":            map[string]any{"id": InstallationID}, "deployment": nil,
	}
	if !w.NoDeployment {
		members["deployment"] = map[string]any{
			"id": w.DeploymentID, "sha": w.SHA, "ref": w.Ref, "task": "deploy", "environment": w.Environment,
			"created_at": time.Now().UTC().Format(time.RFC3339),
		}
	}
	return newEvent("deployment_protection_rule", w.Repository, members)
}

package codehost

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"
)

// Event is one that GitHub sends to the webhook of the App.
type Event struct {
	Kind string // of the header X-GitHub-Event
	Body []byte
}

func newEvent(kind, repository string, members map[string]any) Event {
	members["repository"] = map[string]any{"full_name": repository, "html_url": "https://github.com/" + repository}
	members["sender"] = map[string]any{"login": "ann-lee"}
	body, err := json.Marshal(members)
	if err != nil {
		panic(err) // text and numbers are always JSON
	}
	return Event{Kind: kind, Body: body}
}

func appView(id int64) map[string]any { return map[string]any{"id": id} }

// DeploymentEvent is what GitHub sends when an App has posted the state success of a deployment just now.
func DeploymentEvent(repository, sha, environment string, app int64) Event {
	return deploymentEvent(repository, sha, environment, deploymentState{ID: time.Now().UnixNano() / 1000, State: "success"}, app)
}

func deploymentEvent(repository, sha, environment string, s deploymentState, app int64) Event {
	return newEvent("deployment_status", repository, map[string]any{
		"action":     "created",
		"deployment": map[string]any{"id": 1, "sha": sha, "ref": "main", "task": "deploy", "environment": environment},
		"deployment_status": map[string]any{
			"id": s.ID, "state": s.State, "environment": environment, "environment_url": s.EnvironmentURL,
			"log_url": s.LogURL, "target_url": s.LogURL,
			"description": s.Description, "created_at": time.Now().UTC().Format(time.RFC3339), "performed_via_github_app": appView(app),
		},
	})
}

// PostedDeployments are the events of all states of deployments that were posted by the App with the id.
func (h *Host) PostedDeployments(app int64) (events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.deployments {
		for _, s := range d.states {
			events = append(events, deploymentEvent(d.repository, d.SHA, d.Environment, s, app))
		}
	}
	return events
}

// Rerequests are the events of the button of each check run of a commit, the oldest first.
func (h *Host) Rerequests(sha string) (events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.checks {
		if c.headSHA == sha {
			events = append(events, newEvent("check_run", c.repository, map[string]any{
				"action": "rerequested",
				"check_run": map[string]any{
					"id": c.id, "name": c.name, "head_sha": c.headSHA, "external_id": c.externalID, "status": c.status, "conclusion": c.conclusion,
					"app": appView(AppID),
				},
			}))
		}
	}
	return events
}

// Deliver returns the request with which GitHub sends an event, signed with the secret.
func (e Event) Deliver(url, secret string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(e.Body))
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(e.Body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "GitHub-Hookshot/044aadd")
	r.Header.Set("X-GitHub-Event", e.Kind)
	r.Header.Set("X-GitHub-Delivery", rand.Text())
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return r, nil
}

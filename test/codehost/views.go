package codehost

import (
	"fmt"
	"time"
)

type checkRun struct {
	id                           int64
	repository, headSHA          string
	name, externalID, detailsURL string
	status, conclusion           string
	startedAt, completedAt       string
	output                       map[string]any
	annotations                  int
}

type status struct {
	id              int64
	repository, sha string
	name            string // on GitHub: context
	state           string
	description     string
	targetURL       string
	at              time.Time

	ref      string // on GitLab
	pipeline int64  // on GitLab
}

func (c *checkRun) view() map[string]any {
	url := fmt.Sprintf("https://api.github.com/repos/%s/check-runs/%d", c.repository, c.id)
	return map[string]any{
		"id": c.id, "node_id": fmt.Sprint("CR_", c.id), "head_sha": c.headSHA, "name": c.name, "external_id": c.externalID,
		"url": url, "html_url": nil, "details_url": optional(c.detailsURL),
		"status": c.status, "conclusion": optional(c.conclusion),
		"started_at": optional(c.startedAt), "completed_at": optional(c.completedAt),
		"check_suite": map[string]any{"id": 1}, "app": map[string]any{"id": AppID}, "pull_requests": []any{},
		"output": map[string]any{
			"title": c.output["title"], "summary": c.output["summary"], "text": c.output["text"],
			"annotations_count": c.annotations, "annotations_url": url + "/annotations",
		},
	}
}

func (s *status) gitHubView() map[string]any {
	at := s.at.UTC().Format(time.RFC3339)
	return map[string]any{
		"id": s.id, "node_id": fmt.Sprint("SC_", s.id), "url": fmt.Sprintf("https://api.github.com/repos/%s/statuses/%s", s.repository, s.sha),
		"avatar_url": nil, "creator": nil, "state": s.state, "context": s.name,
		"description": optional(s.description), "target_url": optional(s.targetURL), "created_at": at, "updated_at": at,
	}
}

func (s *status) gitLabView() map[string]any {
	at := s.at.UTC().Format(time.RFC3339Nano)
	view := map[string]any{
		"id": s.id, "sha": s.sha, "ref": s.ref, "status": s.state, "name": s.name, "pipeline_id": s.pipeline,
		"target_url": optional(s.targetURL), "description": optional(s.description), "coverage": nil, "allow_failure": false,
		"created_at": at, "started_at": nil, "finished_at": nil, "author": map[string]any{"id": 1},
	}
	if s.state != "pending" {
		view["started_at"] = at
	}
	if !s.goesOn() {
		view["finished_at"] = at
	}
	return view
}

func installationView() map[string]any {
	at := time.Now().UTC().Format(time.RFC3339)
	url := fmt.Sprint("https://api.github.com/app/installations/", InstallationID)
	return map[string]any{
		"id": InstallationID, "app_id": AppID, "app_slug": "postflight", "account": nil, "target_id": 1, "target_type": "Organization",
		"access_tokens_url": url + "/access_tokens", "repositories_url": url + "/repositories", "html_url": url,
		"permissions": map[string]any{"checks": "write"}, "events": []any{}, "repository_selection": "selected",
		"single_file_name": nil, "created_at": at, "updated_at": at, "suspended_by": nil, "suspended_at": nil,
	}
}

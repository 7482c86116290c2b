package view

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// NotificationForm is a notification as people type it in.
type NotificationForm struct{ Branch, SHA, Type, Service, URL, Repository, PullRequest, Variables string }

// FormOf reads the query of a form.
func FormOf(q url.Values) NotificationForm {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return NotificationForm{
		Branch: get("branch"), SHA: get("sha"), Type: get("type"), Service: get("service"), URL: get("url"),
		Repository: get("repository"), PullRequest: get("pr"), Variables: get("variables"),
	}
}

// Notification encodes the form as JSON, so that it is checked like those that pipelines send.
func (f NotificationForm) Notification() (*notification.Notification, error) {
	body := map[string]any{}
	for name, value := range map[string]string{
		"branch": f.Branch, "sha": f.SHA, "deployment_type": f.Type, "service": f.Service, "deployment_url": f.URL,
	} {
		if value != "" {
			body[name] = value
		}
	}
	if owner, name, ok := cutLast(f.Repository, "/"); ok {
		body["repository"] = map[string]string{"owner": owner, "name": name}
	}
	if number, err := strconv.ParseInt(f.PullRequest, 10, 64); err == nil {
		body["pull_request_number"] = number
	}
	if variables := variablesOf(f.Variables); len(variables) > 0 {
		body["variables"] = variables
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return notification.Decode(encoded)
}

func variablesOf(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[strings.TrimSpace(name)] = value
		}
	}
	return all
}

func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+len(separator):], true
}

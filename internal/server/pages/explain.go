package pages

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/notification"
)

// notificationForm is a notification as people type it in.
type notificationForm struct {
	Branch, SHA, Type, URL, Repository, PullRequest, Variables string
}

// explain says why the Trigger matches what the query of the page describes, or not. Nothing is sent. It takes the turns of
// the team's notifications, so not everybody may ask on public pages.
func (u *UI) explain(r *request, d *triggerData) error {
	query := r.URL.Query()
	if !query.Has("explain") {
		return nil
	}
	d.Form = formOf(query)
	if !r.signedIn {
		d.FormProblem = "Sign in to find out."
		return nil
	}
	n, err := d.Form.notification()
	if err != nil {
		d.FormProblem = err.Error()
		return nil
	}
	explanations, err := u.Explain(r.Context(), r.team, n)
	if err != nil {
		return err
	}
	for e := range explanations {
		if e.Trigger.Name == d.Name {
			d.Explanation = &e
			break
		}
	}
	return nil
}

func formOf(q url.Values) notificationForm {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return notificationForm{
		Branch: get("branch"), SHA: get("sha"), Type: get("type"), URL: get("url"),
		Repository: get("repository"), PullRequest: get("pr"), Variables: get("variables"),
	}
}

// notification is decoded from JSON, like those that pipelines send, so that it is checked in the same way.
func (f notificationForm) notification() (*notification.Notification, error) {
	body := map[string]any{}
	for name, value := range map[string]string{
		"branch": f.Branch, "sha": f.SHA, "deployment_type": f.Type, "deployment_url": f.URL,
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

// variablesOf reads lines of NAME=value.
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

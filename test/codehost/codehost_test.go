package codehost

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// complaints is a test that notes what the fakes complain about.
type complaints struct {
	testing.TB
	about []string
}

func (c *complaints) Errorf(format string, args ...any) {
	c.about = append(c.about, fmt.Sprintf(format, args...))
}

const sha = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e"

type object = map[string]any

// with is a copy of an object with some members of others.
func with(base object, changes ...object) object {
	all := object{}
	for _, o := range append([]object{base}, changes...) {
		for name, value := range o {
			all[name] = value
		}
	}
	return all
}

func send(t *testing.T, h *Host, method, path string, body object) (status int, text string) {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, h.URL+path, strings.NewReader(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	r.Header.Set("Authorization", "Bearer "+h.Token())
	if strings.Contains(path, "/check-runs") || strings.Contains(path, "/actions/") {
		r.Header.Set("Authorization", "Bearer "+appToken)
	}
	r.Header.Set("Private-Token", h.Token())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(said)
}

type limit struct {
	path   string
	body   object
	beyond object // nil: the path is
}

// limits are what the descriptions allow at most, and a little more.
func limits() map[string]limit {
	text := func(n int) string { return strings.Repeat("é", n) }
	annotation := func(title string) object {
		return object{"path": "a.go", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m", "title": title}
	}
	annotations := func(n int) (list []object) {
		for range n {
			list = append(list, annotation("t"))
		}
		return list
	}
	output := func(changes ...object) object {
		return object{"output": with(object{"title": "t", "summary": "s"}, changes...)}
	}
	run := with(object{"name": "n", "head_sha": sha, "status": "in_progress"}, output())
	status := object{"state": "pending", "context": "c"}
	gitLab := object{"state": "pending", "name": "n"}
	const runs, statuses, onGitLab = "/repos/acme/shop/check-runs", "/repos/acme/shop/statuses/" + sha, "/api/v4/projects/a%2Fb/statuses/" + sha
	return map[string]limit{
		"annotations":                {runs, with(run, output(object{"annotations": annotations(50)})), with(run, output(object{"annotations": annotations(51)}))},
		"title of an annotation":     {runs, with(run, output(object{"annotations": []object{annotation(text(255))}})), with(run, output(object{"annotations": []object{annotation(text(256))}}))},
		"summary":                    {runs, with(run, output(object{"summary": text(65535)})), with(run, output(object{"summary": text(65536)}))},
		"an end has a conclusion":    {runs, with(run, object{"status": "completed", "conclusion": "success"}), with(run, object{"status": "completed"})},
		"states of others":           {runs, run, with(run, object{"status": "waiting"})},
		"a whole SHA":                {runs, run, with(run, object{"head_sha": "5ca1ab1e"})},
		"members that are known":     {runs, run, with(run, object{"colour": "red"})},
		"description of a status":    {statuses, with(status, object{"description": text(140)}), with(status, object{"description": text(141)})},
		"context":                    {statuses, with(status, object{"context": text(255)}), with(status, object{"context": text(256)})},
		"link":                       {statuses, with(status, object{"target_url": "https://x"}), with(status, object{"target_url": "javascript:x"})},
		"states of GitHub":           {statuses, status, with(status, object{"state": "cancelled"})},
		"name on GitLab":             {onGitLab, with(gitLab, object{"name": text(255)}), with(gitLab, object{"name": text(256)})},
		"description on GitLab":      {onGitLab, with(gitLab, object{"description": text(255)}), with(gitLab, object{"description": text(256)})},
		"link on GitLab":             {onGitLab, with(gitLab, object{"target_url": "https://" + strings.Repeat("x", 247)}), with(gitLab, object{"target_url": "https://" + strings.Repeat("x", 248)})},
		"branch on GitLab":           {onGitLab, with(gitLab, object{"ref": text(255)}), with(gitLab, object{"ref": text(256)})},
		"states of GitLab":           {onGitLab, gitLab, with(gitLab, object{"state": "timed_out"})},
		"members that GitLab has":    {onGitLab, gitLab, with(gitLab, object{"head_sha": sha})},
		"the number of a pipeline":   {onGitLab, with(gitLab, object{"pipeline_id": 7}), with(gitLab, object{"pipeline_id": "seven"})},
		"a path that is described":   {runs, run, nil},
		"a path that GitLab has not": {onGitLab, gitLab, nil},
	}
}

// TestLimits: the fakes accept what is just within the limits, and refuse what is not.
func TestLimits(t *testing.T) {
	for name, tc := range limits() {
		t.Run(name, func(t *testing.T) {
			tb := &complaints{TB: t}
			h := GitHub(tb)
			if strings.HasPrefix(tc.path, "/api/v4") {
				h = GitLab(tb)
			}
			if code, said := send(t, h, http.MethodPost, tc.path, tc.body); code != http.StatusCreated || len(tb.about) > 0 {
				t.Errorf("within: got %d %s, complaints %q", code, said, tb.about)
			}
			path := tc.path
			if tc.beyond == nil {
				path += "/other"
			}
			if code, said := send(t, h, http.MethodPost, path, tc.beyond); code != http.StatusBadRequest || len(tb.about) != 1 {
				t.Errorf("beyond: got %d %s, complaints %q", code, said, tb.about)
			}
		})
	}
}

// TestStatusesOfAContext: GitHub keeps a thousand of a commit and a context.
func TestStatusesOfAContext(t *testing.T) {
	h := GitHub(t)
	h.PerMinute, h.PerHour = 2*maxStatuses, 2*maxStatuses
	body := object{"state": "pending", "context": "c"}
	for i := range maxStatuses {
		if code, said := send(t, h, http.MethodPost, "/repos/acme/shop/statuses/"+sha, body); code != http.StatusCreated {
			t.Fatalf("%d: got %d %s", i, code, said)
		}
	}
	if code, said := send(t, h, http.MethodPost, "/repos/acme/shop/statuses/"+sha, with(body, object{"context": "C"})); code != http.StatusUnprocessableEntity {
		t.Errorf("got %d %s", code, said)
	}
	if code, said := send(t, h, http.MethodPost, "/repos/acme/shop/statuses/"+sha, with(body, object{"context": "other"})); code != http.StatusCreated {
		t.Errorf("got %d %s", code, said)
	}
}

// TestTransitions plays which states GitLab lets follow which.
func TestTransitions(t *testing.T) {
	const refused = http.StatusBadRequest
	for name, tc := range map[string]struct {
		states []string
		last   int
		says   string
	}{
		"the usual way":            {[]string{"pending", "running", "success"}, http.StatusCreated, ""},
		"running at once":          {[]string{"running", "failed"}, http.StatusCreated, ""},
		"canceled at once":         {[]string{"canceled"}, http.StatusCreated, ""},
		"another run of the name":  {[]string{"running", "success", "running"}, http.StatusCreated, ""},
		"pending twice":            {[]string{"pending", "pending"}, refused, `Cannot transition status via :enqueue from :pending`},
		"running twice":            {[]string{"running", "running"}, refused, `Cannot transition status via :run from :running (Reason(s): Status cannot transition via \"run\")`},
		"pending after running":    {[]string{"running", "pending"}, refused, `Cannot transition status via :enqueue from :running`},
		"an end follows any state": {[]string{"pending", "canceled"}, http.StatusCreated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := GitLab(t)
			code, said := 0, ""
			for _, state := range tc.states {
				code, said = send(t, h, http.MethodPost, "/api/v4/projects/a%2Fb/statuses/"+sha, object{"state": state, "name": "n"})
			}
			if code != tc.last || !strings.Contains(said, tc.says) {
				t.Errorf("got %d %s, want %d with %s", code, said, tc.last, tc.says)
			}
		})
	}
}

// TestAnswersAreValidated: a fake that does not answer as described fails its test.
func TestAnswersAreValidated(t *testing.T) {
	for name, answered := range map[string]struct {
		status int
		body   any
	}{
		"a member that is missing":    {http.StatusCreated, object{"id": 1}},
		"a status that is not listed": {http.StatusTeapot, object{}},
		"a list for an object":        {http.StatusCreated, []any{}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &complaints{TB: t}
			h := start(tb, gitHubAPI, map[string]http.HandlerFunc{"POST /": func(w http.ResponseWriter, _ *http.Request) { answer(w, answered.status, answered.body) }})
			send(t, h, http.MethodPost, "/repos/acme/shop/statuses/"+sha, object{"state": "pending"})
			if len(tb.about) != 1 || !strings.Contains(tb.about[0], "does not answer as documented") {
				t.Errorf("complaints: %q", tb.about)
			}
		})
	}
}

package codehost

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestApprovalsAsDocumented: the fakes refuse decisions that the APIs do not allow, and complain about them.
func TestApprovalsAsDocumented(t *testing.T) {
	const onGitHub, onGitLab = "/repos/acme/shop/actions/runs/7/deployment_protection_rule", "/api/v4/projects/acme%2Fshop/deployments/1/approval"
	comment := func(n int) string { return strings.Repeat("é", n) }
	gitHub, gitLab := object{"environment_name": "production", "state": "approved"}, object{"status": "approved"}
	progress := object{"environment_name": "production", "comment": "c"}
	for name, tc := range map[string]struct {
		path string
		body object
		ok   bool
	}{
		"a decision":                      {onGitHub, gitHub, true},
		"a rejection":                     {onGitHub, with(gitHub, object{"state": "rejected"}), true},
		"the longest comment":             {onGitHub, with(gitHub, object{"comment": comment(1024)}), true},
		"a longer comment":                {onGitHub, with(gitHub, object{"comment": comment(1025)}), false},
		"a report of progress":            {onGitHub, with(progress, object{"comment": comment(1024)}), true},
		"a longer report":                 {onGitHub, with(progress, object{"comment": comment(1025)}), false},
		"an empty report":                 {onGitHub, with(progress, object{"comment": ""}), false},
		"an empty state":                  {onGitHub, with(gitHub, object{"state": "", "comment": "c"}), false},
		"a state of others":               {onGitHub, with(gitHub, object{"state": "success"}), false},
		"no environment":                  {onGitHub, object{"state": "approved"}, false},
		"an empty environment":            {onGitHub, with(gitHub, object{"environment_name": ""}), false},
		"a long environment":              {onGitHub, with(gitHub, object{"environment_name": comment(256)}), false},
		"a member that is not known":      {onGitHub, with(gitHub, object{"deployment": 1}), false},
		"a negative run":                  {strings.Replace(onGitHub, "/7/", "/-7/", 1), gitHub, false},
		"a run of text":                   {strings.Replace(onGitHub, "/7/", "/x/", 1), gitHub, false},
		"on GitLab":                       {onGitLab, gitLab, true},
		"a rejection on GitLab":           {onGitLab, object{"status": "rejected", "comment": comment(255)}, true},
		"a longer comment on GitLab":      {onGitLab, with(gitLab, object{"comment": comment(256)}), false},
		"a member that GitLab has not":    {onGitLab, with(gitLab, object{"state": "approved"}), false},
		"no state on GitLab":              {onGitLab, object{"comment": "c"}, false},
		"a deployment of text, on GitLab": {strings.Replace(onGitLab, "/1/", "/x/", 1), gitLab, false},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &complaints{TB: t}
			h, w := GitHub(tb), Waiting{Repository: "acme/shop", Environment: "production", SHA: sha, RunID: 7}
			if strings.HasPrefix(tc.path, "/api/v4") {
				h, w.RunID = GitLab(tb), 0
			}
			h.Wait(w)
			code, said := send(t, h, http.MethodPost, tc.path, tc.body)
			if decided := len(h.decisions) == 1; decided != tc.ok || (code/100 == 2) != tc.ok || (len(tb.about) == 0) != tc.ok {
				t.Errorf("got %d %s, decisions %v, complaints %q", code, said, h.decisions, tb.about)
			}
		})
	}
}

// TestApprovalsNeedCredentials: GitHub takes decisions only from an App.
func TestApprovalsNeedCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		token string
		code  int
	}{
		"the App":  {"Bearer " + appToken, http.StatusNoContent},
		"a token":  {"Bearer t0ken", http.StatusForbidden},
		"another":  {"Bearer x", http.StatusUnauthorized},
		"no token": {"", http.StatusUnauthorized},
	} {
		h := GitHub(t)
		h.Wait(Waiting{Repository: "acme/shop", Environment: "production", SHA: sha, RunID: 7})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/repos/acme/shop/actions/runs/7/deployment_protection_rule",
			strings.NewReader(`{"environment_name":"production","state":"approved"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
		r.Header.Set("Authorization", tc.token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if decided := len(h.Decisions(7)) == 1; answer.StatusCode != tc.code || decided != (tc.code == http.StatusNoContent) {
			t.Errorf("%s: got %d %s, decisions %v", name, answer.StatusCode, said, h.Decisions(7))
		}
	}
}

// TestFaultsEnd: a fault strikes so often, and only where it is meant to.
func TestFaultsEnd(t *testing.T) {
	h := GitLab(t)
	h.Fail(&Fault{Status: http.StatusInternalServerError, Times: 3, Path: "/user"})
	var codes []int
	for _, path := range []string{"/user", "/projects/a%2Fb/deployments?environment=e", "/user", "/user", "/user"} {
		code, _ := send(t, h, http.MethodGet, "/api/v4"+path, nil)
		codes = append(codes, code)
	}
	for i, want := range []int{500, 200, 500, 500, 200} {
		if codes[i] != want {
			t.Fatalf("got %v", codes)
		}
	}
}

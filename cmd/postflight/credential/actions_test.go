package credential

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gitHub is the endpoint of GitHub Actions that gives tokens: a GET with the audience appended to a URL that has a query, and the request
// token as bearer, is answered by JSON with the token as value. The variables are those of a job with "id-token: write".
func gitHub(t *testing.T, handler http.HandlerFunc) map[string]string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return map[string]string{
		"GITHUB_ACTIONS": "true", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-S3CRET",
		"ACTIONS_ID_TOKEN_REQUEST_URL": server.URL + "/00000000-0000/_apis/distributedtask/hubs/Actions/plans/1/jobs/2/idtoken?api-version=2.0",
	}
}

func TestGitHubActions(t *testing.T) {
	for audience, query := range map[string]string{
		"":                                      "api-version=2.0&audience=postflight",
		"https://postflight.example.com/?a=b&c": "api-version=2.0&audience=https%3A%2F%2Fpostflight.example.com%2F%3Fa%3Db%26c",
	} {
		asked := 0
		env := gitHub(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if r.Method != http.MethodGet || r.URL.RawQuery != query || r.Header.Get("Authorization") != "Bearer request-S3CRET" {
				t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
			}
			fmt.Fprintf(w, `{"count":1402,"value":%q}`, unsigned(fmt.Sprintf(`{"exp":%d}`, noon.Unix()+300)))
		})
		env["POSTFLIGHT_AUDIENCE"] = audience
		c, err := machine(env).Find()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if token, err := c.Token(t.Context(), ""); err != nil || !strings.HasPrefix(token, "ey") {
				t.Fatal(token, err)
			}
		}
		if asked != 1 {
			t.Errorf("%d requests for a token of five minutes, want one", asked)
		}
	}
}

func TestGitHubActionsAnswersWrongly(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was followed", r.URL) }))
	t.Cleanup(elsewhere.Close)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"value":"S3CRET"}`, code) }
	}
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	cases := map[string]struct {
		handler http.HandlerFunc
		says    string
		passing bool
	}{
		"a page":        {handler: body("<html>log in, S3CRET</html>"), says: "something other than a token"},
		"no permission": {handler: status(403), says: "permissions: {id-token: write}"},
		"the job ended": {handler: status(401), says: "has not ended"},
		"not found":     {handler: status(404), says: "it answered 404"},
		"too many":      {handler: status(429), says: "at the moment", passing: true},
		"out of order":  {handler: status(502), says: "at the moment", passing: true},
		"a redirect": {handler: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/?S3CRET", http.StatusFound)
		}, says: "it answered 302"},
		"no value":        {handler: body(`{"count":0}`), says: "it is empty"},
		"a wrong value":   {handler: body(`{"value":{"S3CRET":1}}`), says: "something other than a token"},
		"a second header": {handler: body(`{"value":"S3CRET\r\nX-Other: 1"}`), says: "one word"},
		"a long token":    {handler: body(`{"value":"` + strings.Repeat("S3CRET", 2000) + `"}`), says: "longer than"},
		"without an end": {handler: func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
			t.Error("64 MB were read")
		}, says: "something other than a token"},
		"cut off": {handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, says: "gives no token", passing: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := machine(gitHub(t, tc.handler)).Find()
			if err != nil {
				t.Fatal(err)
			}
			token, err := c.Token(t.Context(), "")
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "S3CRET") ||
				strings.Contains(err.Error(), "idtoken") {
				t.Errorf("%q, %v; want %q and no secret", token, err, tc.says)
			}
			failed, ok := errors.AsType[*issuerError](err)
			if passing := ok && failed.Temporary(); passing != tc.passing {
				t.Errorf("%v: tried again: %t, want %t", err, passing, tc.passing)
			}
		})
	}
}

// TestPrograms runs stubs of the programs that Buildkite and CircleCI have in each job.
func TestPrograms(t *testing.T) {
	cases := map[string]struct {
		env    map[string]string
		name   string // of the program
		script string
		want   string
		says   string
	}{
		"Buildkite": {env: map[string]string{"BUILDKITE": "true"}, name: "buildkite-agent", script: `echo "$*" | tr -d ' '`,
			want: "oidcrequest-token--audiencepostflight"},
		"CircleCI": {env: map[string]string{"CIRCLECI": "true", "CIRCLE_OIDC_TOKEN": "for-the-cloud", "CIRCLE_OIDC_TOKEN_V2": "for-the-cloud"},
			name:   "circleci",
			script: `echo "$*" | tr -d ' '`, want: `runoidcget--claims{"aud":"postflight"}`},
		"another audience": {env: map[string]string{"CIRCLECI": "true", "POSTFLIGHT_AUDIENCE": `a"}`}, name: "circleci",
			script: `echo "$*" | tr -d ' '`, want: `runoidcget--claims{"aud":"a\"}"}`},
		"it fails": {env: map[string]string{"BUILDKITE": "true"}, name: "buildkite-agent",
			script: "echo S3CRET; echo S3CRET >&2; exit 3", says: `"buildkite-agent oidc request-token" gives no token: exit status 3`},
		"it prints more": {env: map[string]string{"BUILDKITE": "true"}, name: "buildkite-agent", script: "echo a S3CRET", says: "one word"},
		"without an end": {env: map[string]string{"BUILDKITE": "true"}, name: "buildkite-agent", script: "head -c 1000000 /dev/zero",
			says: "longer than"},
		"not there": {env: map[string]string{"BUILDKITE": "true"}, name: "other",
			says: "POSTFLIGHT_ID_TOKEN=$(buildkite-agent oidc request-token --audience postflight)"},
		"another system": {env: map[string]string{"GITLAB_CI": "true"}, name: "buildkite-agent", script: "echo token",
			says: "id_tokens: {POSTFLIGHT_ID_TOKEN: {aud: postflight}}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := machine(tc.env)
			m.Program = func(name string) (string, error) {
				path := filepath.Join(dir, name)
				_, err := os.Stat(path)
				return path, err
			}
			if err := os.WriteFile(filepath.Join(dir, tc.name), []byte("#!/bin/sh\n"+tc.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			c, err := m.Find()
			token := ""
			if err == nil {
				token, err = c.Token(t.Context(), "")
			}
			if tc.says == "" && (err != nil || token != tc.want) {
				t.Errorf("%q, %v; want %q", token, err, tc.want)
			}
			if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "S3CRET")) {
				t.Errorf("%q, %v; want %q and no secret", token, err, tc.says)
			}
		})
	}
}

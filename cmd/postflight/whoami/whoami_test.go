package whoami

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/clitest"
)

var program = clitest.Program{New}

func TestWhoAmI(t *testing.T) {
	expires := time.Now().Add(4 * time.Minute).UTC().Truncate(time.Second)
	token := clitest.IDToken(expires)
	key := httpapi.WhoAmI{Sender: httpapi.Sender{Kind: "key", Name: "acme/ci"}, Team: "acme", Namespace: "acme",
		Actions: []string{"notify", "upload", "outcome", "read", "act"}}
	job := httpapi.WhoAmI{Sender: httpapi.Sender{Kind: "token", Name: "acme/gitlab"}, Team: "acme", Namespace: "acme",
		Actions: []string{"notify", "outcome"},
		DeploymentTypes: []string{"staging",
			"preview*"}, Environments: []string{"staging"}, Commit: "9fceb02d0ae598e95dc970b74767f19372d61af8", ExpiresAt: &expires}
	cases := map[string]struct {
		env     map[string]string
		args    string
		old     bool // the server has no such path
		handler http.HandlerFunc
		code    int
		says    []string
		sent    string
	}{
		"a key": {env: map[string]string{"POSTFLIGHT_API_KEY": "qawolf_0123456789abcdef"},
			handler: func(w http.ResponseWriter, _ *http.Request) { clitest.Reply(w, 200, key) },
			sent:    "Bearer qawolf_0123456789abcdef ", says: []string{"key acme/ci", "acme, in the namespace acme",
				"notify (report deployments), upload (files for runs), read (runs",
				"Deployment types:   any", "the API key in POSTFLIGHT_API_KEY"}},
		"a token": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token, "POSTFLIGHT_TEAM": "acme"},
			handler: func(w http.ResponseWriter, _ *http.Request) { clitest.Reply(w, 200, job) },
			sent:    "Bearer " + token + " acme", says: []string{"token acme/gitlab", "notify (report deployments), outcome (read how runs end)",
				"staging, preview*", "9fceb02d", "the token in POSTFLIGHT_ID_TOKEN",
				"https://gitlab.example.com", "project_path:acme/shop", expires.Format(time.RFC3339)}},
		"a TrustPolicy": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token, "POSTFLIGHT_TEAM": "acme/gitlab"},
			handler: func(w http.ResponseWriter, _ *http.Request) { clitest.Reply(w, 200, job) },
			sent:    "Bearer " + token + " acme/gitlab"},
		"a team by its flag": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token, "POSTFLIGHT_TEAM": "other"}, args: "--team acme/gitlab",
			sent:    "Bearer " + token + " acme/gitlab",
			handler: func(w http.ResponseWriter, _ *http.Request) { clitest.Reply(w, 200, job) }},
		"a team of no use by its flag": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token}, args: "--team a/b/c", code: 3,
			says: []string{"nor TEAM/TRUSTPOLICY"}},
		"as JSON": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token}, args: "-o json",
			handler: func(w http.ResponseWriter, _ *http.Request) { clitest.Reply(w, 200, job) },
			says:    []string{`"kind": "token"`, `"issuer": "https://gitlab.example.com"`, `"deployment_types": [`}},
		"refused": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token}, code: 3,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				clitest.Fail(w, 401, "unauthenticated", "The API key is missing or not valid.")
			},
			says: []string{"The API key is missing or not valid. The request was sent with " +
				"the token in POSTFLIGHT_ID_TOKEN, from the issuer \"https://gitlab.example.com\"",
				"ask your operator whether it trusts this issuer and audience."}},
		"forbidden": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token}, code: 3,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				clitest.Fail(w, 403, "forbidden", "Two TrustPolicies trust this token. Send the header Postflight-Team.")
			},
			says: []string{"Send the header Postflight-Team"}},
		"an old server": {env: map[string]string{"POSTFLIGHT_API_KEY": "qawolf_0123456789abcdef"}, old: true, code: 3,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				clitest.Fail(w, 404, "not_found", "There is nothing at this path.")
			},
			says: []string{"too old to say what you may do"}},
		"a policy": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token, "POSTFLIGHT_TEAM": "acme/gitlab"},
			sent:    "Bearer " + token + " acme/gitlab",
			handler: func(w http.ResponseWriter, _ *http.Request) { clitest.Reply(w, 200, job) }},
		"a policy of no use": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token, "POSTFLIGHT_TEAM": "acme/a/b"}, code: 3,
			says: []string{"nor TEAM/TRUSTPOLICY"}},
		"a team of no use": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": token, "POSTFLIGHT_TEAM": "a\r\nX-Other: 1"}, code: 3,
			says: []string{"POSTFLIGHT_TEAM is not the name of a Team"}},
		"no credential": {env: map[string]string{"GITLAB_CI": "true"}, code: 3,
			says: []string{"there is no credential", "id_tokens: {POSTFLIGHT_ID_TOKEN: {aud: postflight}}"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := clitest.Credentials(t, !tc.old, tc.handler)
			for _, name := range []string{"GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "BUILDKITE", "JENKINS_URL"} {
				t.Setenv(name, "")
			}
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			out, log := program.Expect(t, tc.code, nil, nil, strings.Fields("whoami "+tc.args)...)
			clitest.Contains(t, "the output", out+log, tc.says...)
			if strings.Contains(out+log, token) || strings.Contains(out+log, "0123456789abcdef") {
				t.Errorf("a secret was printed:\n%s%s", out, log)
			}
			if tc.args == "-o json" && !json.Valid([]byte(out)) {
				t.Errorf("no JSON: %s", out)
			}
			if tc.sent != "" && !slices.Contains(*got, tc.sent) {
				t.Errorf("sent %q, want %q", *got, tc.sent)
			}
		})
	}
}

// TestTokensStayOffTheNetwork: unlike a key, a token is never sent over plain http, except to this machine, or on demand.
func TestTokensStayOffTheNetwork(t *testing.T) {
	cases := map[string]struct {
		url, allow string
		sent       bool
	}{
		"http":              {"http://postflight.invalid", "", false},
		"http, allowed":     {"http://postflight.invalid", "1", true},
		"http to this host": {"http://127.0.0.1:1", "", true},
		"https":             {"https://postflight.invalid", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_URL", tc.url)
			t.Setenv("POSTFLIGHT_ALLOW_HTTP", tc.allow)
			t.Setenv("POSTFLIGHT_ID_TOKEN", clitest.IDToken(time.Now().Add(time.Hour)))
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // nothing is sent
			_, log, code := program.Run(ctx, nil, "whoami")
			if code == 0 || strings.Contains(log, "plain http") == tc.sent {
				t.Errorf("%s; want it sent: %t", log, tc.sent)
			}
		})
	}
}

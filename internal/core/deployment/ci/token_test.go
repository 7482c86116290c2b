package ci_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
)

// TestTokenAdvice: each CI system has its own way to a token, and the advice is one line.
func TestTokenAdvice(t *testing.T) {
	cases := map[string]struct {
		env  map[string]string
		says []string
	}{
		"GitHub Actions": {map[string]string{"GITHUB_ACTIONS": "true"}, []string{"permissions: {id-token: write, contents: read}", "fork"}},
		"GitLab CI": {map[string]string{"GITLAB_CI": "true", "KUBERNETES_SERVICE_HOST": "10.0.0.1"},
			[]string{"id_tokens: {POSTFLIGHT_ID_TOKEN: {aud: audience-1}}"}},
		"CircleCI": {map[string]string{"CIRCLECI": "true"},
			[]string{`POSTFLIGHT_ID_TOKEN=$(circleci run oidc get --claims '{"aud": "audience-1"}')`}},
		"Buildkite": {map[string]string{"BUILDKITE": "true"},
			[]string{"POSTFLIGHT_ID_TOKEN=$(buildkite-agent oidc request-token --audience audience-1)"}},
		"Jenkins": {map[string]string{"JENKINS_URL": "https://jenkins.example.com"},
			[]string{"OpenID Connect Provider", "audience audience-1"}},
		"a pod": {map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
			[]string{"audience: audience-1, path: token", "postflight-notifier", "/var/run/secrets/postflight"}},
		"a shell": {nil, []string{"docs/ci.md", "POSTFLIGHT_API_KEY_FILE"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := ci.TokenAdvice(func(name string) string { return tc.env[name] }, "audience-1")
			for _, want := range append(tc.says, "POSTFLIGHT_API_KEY", "postflight keys create") {
				if !strings.Contains(text, want) {
					t.Errorf("%q lacks %q", text, want)
				}
			}
			if strings.Contains(text, "\n") || !strings.HasSuffix(text, ".") {
				t.Errorf("%q is not one line of sentences", text)
			}
		})
	}
}

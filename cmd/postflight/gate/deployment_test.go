package gate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
)

func TestWhatIsReported(t *testing.T) {
	variables := map[string]string{"POSTFLIGHT_BRANCH": "from-variable", "POSTFLIGHT_SHA": "v5a", "POSTFLIGHT_DEPLOYMENT_TYPE": "staging",
		"POSTFLIGHT_DEPLOYMENT_URL": "https://v", "POSTFLIGHT_SERVICE": "mail"}
	fullSHA := strings.Repeat("5ca1ab1e", 5)
	detected := ci.Context{Branch: "from-ci", SHA: "c1", CommitURL: "https://host/c1", CommitMessage: "Fix", CommitAuthor: "Ann"}
	cases := map[string]struct {
		reason    string
		flags     Deployment
		variables map[string]string
		detected  ci.Context // empty: as above
		want      map[string]any
	}{
		"the CI system": {want: map[string]any{"branch": "from-ci", "sha": "c1", "commit_url": "https://host/c1", "commit_message": "Fix",
			"commit_author": "Ann"}},
		"variables": {reason: "they win over the CI system, whose link and message are of another commit", variables: variables,
			want: map[string]any{"branch": "from-variable", "sha": "v5a", "deployment_type": "staging", "deployment_url": "https://v", "service": "mail"}},
		"flags": {reason: "they win over variables", flags: Deployment{Branch: "b", SHA: "f1a9", Kind: "t", URL: "https://f", service: "cart"},
			variables: variables,
			want:      map[string]any{"branch": "b", "sha": "f1a9", "deployment_type": "t", "deployment_url": "https://f", "service": "cart"}},
		"some of each": {flags: Deployment{Kind: "t"}, variables: map[string]string{"POSTFLIGHT_SHA": "v5a"},
			want: map[string]any{"branch": "from-ci", "sha": "v5a", "deployment_type": "t"}},
		"the same commit": {reason: "the link is to it", variables: map[string]string{"POSTFLIGHT_SHA": "c1"},
			want: map[string]any{"branch": "from-ci", "sha": "c1", "commit_url": "https://host/c1", "commit_message": "Fix",
				"commit_author": "Ann"}},
		"the same commit in upper case": {reason: "the link is to it", flags: Deployment{SHA: strings.ToUpper(fullSHA)},
			detected: ci.Context{SHA: fullSHA, CommitURL: "https://host/c"},
			want:     map[string]any{"sha": strings.ToUpper(fullSHA), "commit_url": "https://host/c"}},
		"a version in upper case": {reason: "it is another one", flags: Deployment{SHA: "V1"},
			detected: ci.Context{SHA: "v1", CommitURL: "https://host/c"},
			want:     map[string]any{"sha": "V1"}},
		"an author": {reason: "it may be set where the CI system has none", variables: map[string]string{"POSTFLIGHT_SHA": "v5a",
			"POSTFLIGHT_COMMIT_AUTHOR": "Bea"},
			want: map[string]any{"branch": "from-ci", "sha": "v5a", "commit_author": "Bea"}},
		"no detection": {reason: "variables of Postflight are set on purpose", flags: Deployment{NoDetect: true},
			variables: map[string]string{"POSTFLIGHT_BRANCH": "from-variable"},
			want:      map[string]any{"branch": "from-variable"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.flags.readEnvironment(func(name string) string { return tc.variables[name] })
			if tc.flags.Detected = tc.detected; tc.detected == (ci.Context{}) {
				tc.flags.Detected = detected
			}
			n, err := tc.flags.notification()
			if err != nil {
				t.Fatal(err)
			}
			sent, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(sent, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDescribe: the first line in the log says what is missing.
func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		detected ci.Context
		want     string
	}{
		"a push": {ci.Context{System: "GitHub Actions", Branch: "main", SHA: strings.Repeat("5ca1ab1e", 5)},
			"branch main, commit 5ca1ab1e5ca1 (from GitHub Actions)"},
		"a comment on a pull request": {ci.Context{System: "GitHub Actions", PullRequestNumber: 7},
			"pull request 7, without a commit, which --sha names (from GitHub Actions)"},
		"a shell": {ci.Context{Branch: "main"}, "branch main"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Deployment{Detected: tc.detected}
			n, err := d.notification()
			if err != nil {
				t.Fatal(err)
			}
			if got := d.describe(n); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

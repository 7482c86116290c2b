package source

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// TestSecurityPage: each test that the pages on security name exists, and the regular expression finds keys.
func TestSecurityPage(t *testing.T) {
	code := readCode(t)
	for _, page := range []string{"docs/security.md", "docs/threat-model.md"} {
		named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`").FindAllStringSubmatch(read(t, page), -1)
		if len(named) < 20 {
			t.Errorf("%s names only %d tests; is it written otherwise?", page, len(named))
		}
		for _, name := range named {
			if !code.tests[name[1]] {
				t.Errorf("%s names %s, which does not exist", page, name[1])
			}
		}
	}

	expression := regexp.MustCompile(`(?m)^    (pf_\S+)$`).FindStringSubmatch(read(t, "docs/security.md"))
	if expression == nil {
		t.Fatal("docs/security.md has no regular expression for secret scanners")
	}
	scanner := regexp.MustCompile(expression[1])
	for _, key := range []string{apikey.New("acme"), apikey.New(strings.Repeat("a", 63)), "pf_" + strings.Repeat("0", 38)} {
		if found := scanner.FindString("KEY=" + key + "\n"); found != key {
			t.Errorf("the regular expression finds %q in a file with %q", found, key)
		}
	}
}

// TestRecipeForHosts tries the Trigger of docs/security.md.
func TestRecipeForHosts(t *testing.T) {
	trigger, matcher := recipe(t, "### Anyone with a CI key")
	if notification.Allowed("URL", trigger.Spec.AllowVariables) {
		t.Error("a notification may set URL, which wins over deployment_url")
	}
	for url, want := range map[string]bool{
		"":                                              true, // the Environment's url
		"https://staging.example.com":                   true,
		"https://staging.example.com/":                  true,
		"https://staging.example.com/a?b=c#d":           true,
		"https://staging.example.com.evil.org":          false,
		"https://staging-example.com":                   false,
		"https://evil.org/https://staging.example.com/": false,
		"https://staging.example.com:8443/":             false,
		"https://staging.example.com@evil.org/":         false,
		"https://staging.example.com?@evil.org/":        false,
		"http://staging.example.com/":                   false,
	} {
		if got := matcher.Matches(&notification.Notification{DeploymentURL: url}); got != want {
			t.Errorf("%q matches: %t, want %t", url, got, want)
		}
	}
}

// TestRecipeForForks: with the Trigger of the page, only pull requests of the repository's own branches start a run.
func TestRecipeForForks(t *testing.T) {
	_, matcher := recipe(t, "### The author of a pull request from a fork")
	for name, tc := range map[string]struct {
		n    notification.Notification
		want bool
	}{
		"own branch": {notification.Notification{Repository: "acme/shop", PullRequestNumber: 1,
			Variables: map[string]string{"HEAD_REPOSITORY": "acme/shop"}}, true},
		"fork": {notification.Notification{Repository: "acme/shop", PullRequestNumber: 1,
			Variables: map[string]string{"HEAD_REPOSITORY": "eve/shop"}}, false},
		"not said":      {notification.Notification{Repository: "acme/shop", PullRequestNumber: 1}, false},
		"no repository": {notification.Notification{PullRequestNumber: 1, Variables: map[string]string{"HEAD_REPOSITORY": ""}}, false},
		"no pull request": {notification.Notification{Repository: "acme/shop", Variables: map[string]string{"HEAD_REPOSITORY": "acme/shop"}},
			false},
	} {
		if got := matcher.Matches(&tc.n); got != tc.want {
			t.Errorf("%s matches: %t, want %t", name, got, tc.want)
		}
	}
}

// recipe is the Trigger in a section of docs/security.md.
func recipe(t *testing.T, section string) (*v1alpha1.Trigger, *match.Matcher) {
	t.Helper()
	_, text, found := strings.Cut(read(t, "docs/security.md"), section+"\n")
	_, block, hasBlock := strings.Cut(text, "```yaml\nspec:\n  match:")
	block, _, ended := strings.Cut(block, "```")
	trigger := &v1alpha1.Trigger{}
	if err := yaml.UnmarshalStrict([]byte("spec:\n  match:"+block), trigger); err != nil || !found || !hasBlock || !ended {
		t.Fatalf("docs/security.md has no Trigger after %q: %v", section, err)
	}
	matcher, err := match.Compile(trigger)
	if err != nil {
		t.Fatal(err)
	}
	return trigger, matcher
}

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

// tenantActors are the rows of the table in docs/threat-model.md, by how they begin.
var tenantActors = []string{
	"an API key", "a CI token that names a Team", "a CI token, its repository listed for one Team",
	"a CI token, its repository listed for no Team",
	"a CI token, its repository listed for several Teams", "a wait token", "a ServiceAccount of the Team's namespace",
	"a ServiceAccount of another namespace",
	"events with the secret of an EventSource", "events of the manager's App", "the author of a TrustPolicy", "the author of a Trigger",
	"the author of an Environment", "the author of a TriggerClass", "the author of a Suite", "a person on the run pages", "a pod of a run",
}

// TestTenantMatrix: each cell of the table that says whose token reaches whose team, and who writes what into whose pod, names a test
// that exists.
func TestTenantMatrix(t *testing.T) {
	page := read(t, "docs/threat-model.md")
	_, section, found := strings.Cut(page, "\n## Between teams\n")
	if !found {
		t.Fatal("docs/threat-model.md has no section \"Between teams\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	if len(rows) != len(tenantActors)+1 {
		t.Fatalf("the table has %d rows, want %d and their head", len(rows), len(tenantActors))
	}
	code, test := readCode(t), regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	for i, row := range rows[1:] {
		if !strings.HasPrefix(row[0], tenantActors[i]) || len(row) != len(rows[0]) {
			t.Errorf("the row %q has %d cells, want %q with %d", row[0], len(row), tenantActors[i], len(rows[0]))
			continue
		}
		for column, cell := range row[1:] {
			named := test.FindAllStringSubmatch(cell, -1)
			if len(named) == 0 {
				t.Errorf("%s, %s: no test is named in %q", row[0], rows[0][column+1], cell)
			}
			for _, name := range named {
				if !code.tests[name[1]] {
					t.Errorf("%s, %s: %s does not exist", row[0], rows[0][column+1], name[1])
				}
			}
		}
	}
}

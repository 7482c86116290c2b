package report_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func TestHostOf(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.github.com": "github.com", "https://API.GitHub.com./": "github.com", "https://api.acme.ghe.com": "acme.ghe.com",
		"https://api.acme.example/api/v3": "api.acme.example", "https://git.acme.example/api/v3/": "git.acme.example",
		"https://gitlab.com:443": "gitlab.com", "http://gitlab.acme:80/gitlab": "gitlab.acme", "https://gitlab.acme:8443/": "gitlab.acme:8443",
		"http://[::1": "", "https://": "", "https://:443": "",
	} {
		if got := report.HostOf(v1alpha1.GitHub, url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}

func TestHostOfGitLab(t *testing.T) {
	for url, want := range map[string]string{"https://gitlab.com": "gitlab.com", "https://api.acme.example/gitlab": "api.acme.example"} {
		if got := report.HostOf(v1alpha1.GitLab, url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}

// TestAllowed: the manager's own token of a host is for the repositories that a Team lists for this host.
func TestAllowed(t *testing.T) {
	const gitHub, gitLab = v1alpha1.GitHub, v1alpha1.GitLab
	for name, tc := range map[string]struct {
		entry      string
		service    v1alpha1.HostingService
		repository string
		want       bool
	}{
		"its host and name":                     {"github.com/acme/shop", gitHub, "acme/shop", true},
		"in another case":                       {"GitHub.com/Acme/*", gitHub, "aCME/shop", true},
		"a longer name":                         {"github.com/acme/shop", gitHub, "acme/shop2", false},
		"another owner":                         {"github.com/acme/*", gitHub, "acmex/shop", false},
		"another host":                          {"gitlab.com/acme/*", gitHub, "acme/shop", false},
		"GitHub's entry on GitLab":              {"github.com/acme/*", gitLab, "acme/shop", false},
		"GitLab's entry on GitLab":              {"gitlab.com/acme/*", gitLab, "acme/shop", true},
		"a group in a group":                    {"gitlab.com/acme/*", gitLab, "acme/deep/er/shop", true},
		"a group with the name of GitHub":       {"github.com/acme/*", gitLab, "github.com/acme/shop", false},
		"a group with the name of its own host": {"gitlab.com/acme/*", gitLab, "gitlab.com/acme/shop", false},
		"without a host, on GitHub":             {"acme/shop", gitHub, "Acme/Shop", true},
		"an owner without a host, on GitHub":    {"acme/*", gitHub, "acme/shop", true},
		"without a host, on GitLab":             {"acme/shop", gitLab, "acme/shop", false},
		"a group without a host":                {"acme/*", gitLab, "acme/shop", false},
		"a whole host":                          {"gitlab.com/*", gitLab, "acme/shop", false},
		"an end of the host":                    {"com/acme/*", gitLab, "acme/shop", false},
		"another port":                          {"gitlab.com:8443/acme/*", gitLab, "acme/shop", false},
		"a host with a point at its end":        {"gitlab.com./acme/*", gitLab, "acme/shop", false},
		"a scheme":                              {"https://gitlab.com/acme/*", gitLab, "acme/shop", false},
		"nothing":                               {"/", gitHub, "acme/shop", false},
	} {
		t.Run(name, func(t *testing.T) {
			host := map[v1alpha1.HostingService]string{gitHub: "github.com", gitLab: "gitlab.com"}[tc.service]
			target := report.Target{Host: tc.service, Repository: tc.repository}
			if got := report.Allowed(target, host, []string{"github.com/other/*", tc.entry}); got != tc.want {
				t.Errorf("%q allows %s on %s: %t", tc.entry, tc.repository, host, got)
			}
			if report.Allowed(target, host, nil) || tc.service == gitLab && report.Allowed(target, "", []string{tc.entry, "/acme/*"}) {
				t.Error("without entries, and without a known host, nothing is allowed")
			}
		})
	}
}

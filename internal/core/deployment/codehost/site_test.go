package codehost

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestSiteOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		host    v1alpha1.HostingService
		api     string
		want    string
		waiting string
	}{
		"github.com":        {"Its API has a host of its own.", v1alpha1.GitHub, "https://api.github.com", "https://github.com/", "https://github.com/acme/shop/actions/runs/812"},
		"with a slash":      {"It is the same URL.", v1alpha1.GitHub, "https://api.github.com/", "https://github.com/", "https://github.com/acme/shop/actions/runs/812"},
		"a server":          {"Its API is below the site.", v1alpha1.GitHub, "https://ghe.acme.test:8443/api/v3/", "https://ghe.acme.test:8443/", "https://ghe.acme.test:8443/acme/shop/actions/runs/812"},
		"gitlab.com":        {"", v1alpha1.GitLab, "https://gitlab.com", "https://gitlab.com/", "https://gitlab.com/acme/shop/-/environments"},
		"below a path":      {"GitLab can have a relative URL.", v1alpha1.GitLab, "https://acme.test/git/", "https://acme.test/git/", "https://acme.test/git/acme/shop/-/environments"},
		"no URL":            {"Nothing is configured.", v1alpha1.GitLab, "", "", ""},
		"a script":          {"It is no address of a page.", v1alpha1.GitLab, "javascript:alert(1)", "", ""},
		"a password":        {"It is no address to show.", v1alpha1.GitLab, "https://a:b@acme.test", "", ""},
		"a later code host": {"Its paths are not known.", "Gitea", "https://gitea.acme.test", "https://gitea.acme.test/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			site := SiteOf(tc.host, tc.api)
			waiting := Sites{tc.host: site}.Waiting(v1alpha1.DeploymentReviewSpec{HostingService: tc.host, Repository: "acme/shop", RunID: 812})
			if site != tc.want || waiting != tc.waiting {
				t.Errorf("%s\ngot  %q, %q\nwant %q, %q", tc.reason, site, waiting, tc.want, tc.waiting)
			}
		})
	}
}

func TestWaitingOfHostileRepositories(t *testing.T) {
	sites := Sites{v1alpha1.GitHub: "https://github.com/", v1alpha1.GitLab: "https://gitlab.com/"}
	for _, repository := range []string{"", "acme", "acme/../evil", "/evil.example/x", "acme/shop?x", "acme/shop#x", "acme/shop\n", "@evil.example/x", "acme//shop"} {
		for host := range sites {
			r := v1alpha1.DeploymentReviewSpec{HostingService: host, Repository: repository, RunID: 1}
			if got := sites.Waiting(r); got != "" {
				t.Errorf("%q on %s leads to %q", repository, host, got)
			}
		}
	}
	if got := sites.Waiting(v1alpha1.DeploymentReviewSpec{HostingService: v1alpha1.GitHub, Repository: "acme/shop"}); got != "" {
		t.Errorf("a deployment of GitHub without a run leads to %q", got)
	}
}

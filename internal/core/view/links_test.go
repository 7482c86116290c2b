package view_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

var sha = strings.Repeat("b776998c", 5)

func TestCommit(t *testing.T) {
	cases := map[string]struct {
		reason     string
		deployment v1alpha1.Deployment
		want       *view.Link
	}{
		"No commit":          {"There is nothing to show.", v1alpha1.Deployment{Repository: "acme/shop"}, nil},
		"Its own URL":        {"It is what the pipeline says.", v1alpha1.Deployment{SHA: sha, CommitURL: "https://git.example.com/c/1"}, &view.Link{Text: "b776998c", URL: "https://git.example.com/c/1"}},
		"GitHub":             {"The repository is enough.", v1alpha1.Deployment{SHA: sha, Repository: "acme/shop"}, &view.Link{Text: "b776998c", URL: "https://github.com/acme/shop/commit/" + sha}},
		"A later code host":  {"Its address is not known.", v1alpha1.Deployment{SHA: sha, Repository: "acme/shop", HostingService: "Gitea"}, &view.Link{Text: "b776998c"}},
		"GitLab":             {"Its paths differ.", v1alpha1.Deployment{SHA: sha, Repository: "a/b/shop", HostingService: v1alpha1.GitLab}, &view.Link{Text: "b776998c", URL: "https://gitlab.com/a/b/shop/-/commit/" + sha}},
		"No repository":      {"Nothing says where it is.", v1alpha1.Deployment{SHA: sha}, &view.Link{Text: "b776998c"}},
		"Another text":       {"Only a commit has a page.", v1alpha1.Deployment{SHA: "v1.2.3-build-77", Repository: "acme/shop"}, &view.Link{Text: "v1.2.3-build-77"}},
		"A script":           {"It is no address of a page.", v1alpha1.Deployment{SHA: "x", CommitURL: "javascript:alert(1)"}, &view.Link{Text: "x"}},
		"A password":         {"It makes an address look like another.", v1alpha1.Deployment{SHA: "x", CommitURL: "https://github.com@evil.example/x"}, &view.Link{Text: "x"}},
		"A repository above": {"It leads out of the repository.", v1alpha1.Deployment{SHA: sha, Repository: "acme/../evil"}, &view.Link{Text: "b776998c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, view.Commit(tc.deployment)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPullRequest(t *testing.T) {
	cases := map[string]struct {
		deployment v1alpha1.Deployment
		want       *view.Link
	}{
		"None":          {v1alpha1.Deployment{}, nil},
		"GitHub":        {v1alpha1.Deployment{PullRequestNumber: 318, Repository: "acme/shop"}, &view.Link{Text: "#318", URL: "https://github.com/acme/shop/pull/318"}},
		"GitLab":        {v1alpha1.Deployment{PullRequestNumber: 7, Repository: "a/b", HostingService: v1alpha1.GitLab}, &view.Link{Text: "!7", URL: "https://gitlab.com/a/b/-/merge_requests/7"}},
		"Own code host": {v1alpha1.Deployment{PullRequestNumber: 7, CommitURL: "https://git.example.com/a/b/commit/1"}, &view.Link{Text: "#7", URL: "https://git.example.com/a/b/pull/7"}},
		"Nowhere":       {v1alpha1.Deployment{PullRequestNumber: 7}, &view.Link{Text: "#7"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, view.PullRequest(tc.deployment)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPullRequestThatWasFound(t *testing.T) {
	cases := map[string]struct {
		service    v1alpha1.HostingService
		found      v1alpha1.PullRequestReport
		deployment v1alpha1.Deployment
		want       *view.Link
	}{
		"Found":           {v1alpha1.GitHub, v1alpha1.PullRequestReport{Number: 318, URL: "https://git.example.com/acme/shop/pull/318"}, v1alpha1.Deployment{}, &view.Link{Text: "#318", URL: "https://git.example.com/acme/shop/pull/318"}},
		"Found on GitLab": {v1alpha1.GitLab, v1alpha1.PullRequestReport{Number: 7, URL: "https://git.example.com/acme/shop/-/merge_requests/7"}, v1alpha1.Deployment{}, &view.Link{Text: "!7", URL: "https://git.example.com/acme/shop/-/merge_requests/7"}},
		"Not a page":      {v1alpha1.GitHub, v1alpha1.PullRequestReport{Number: 318, URL: "javascript:alert(1)"}, v1alpha1.Deployment{}, &view.Link{Text: "#318", URL: "https://github.com/acme/shop/pull/318"}},
		"Only notified":   {v1alpha1.GitHub, v1alpha1.PullRequestReport{}, v1alpha1.Deployment{PullRequestNumber: 5}, &view.Link{Text: "#5"}},
		"None":            {v1alpha1.GitHub, v1alpha1.PullRequestReport{}, v1alpha1.Deployment{}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := run("a", passed, func(s *v1alpha1.Suite) {
				s.Spec.Deployment = tc.deployment
				s.Status.Report = &v1alpha1.SuiteReport{HostingService: tc.service, Repository: "acme/shop", PullRequest: &tc.found}
			})
			if diff := cmp.Diff(tc.want, view.RunOf(view.Subject{Suite: s}, now).PullRequest); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeployedAt(t *testing.T) {
	cases := map[string]*view.Link{
		"":                                 nil,
		"https://shop.example.com/":        {Text: "shop.example.com", URL: "https://shop.example.com/"},
		"https://example.com/a/b?c=d":      {Text: "example.com/a/b", URL: "https://example.com/a/b?c=d"},
		"javascript:alert(1)":              {Text: "javascript:alert(1)"},
		"//evil.example":                   {Text: "//evil.example"},
		"data:text/html,<script></script>": {Text: "data:text/html,<script></script>"},
	}
	for raw, want := range cases {
		if diff := cmp.Diff(want, view.DeployedAt(raw)); diff != "" {
			t.Errorf("%q: %s", raw, diff)
		}
	}
}

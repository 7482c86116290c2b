package view

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Link is text that may lead somewhere. Without a URL it is only text.
type Link struct {
	Text string
	URL  string // absolute http or https, or empty
}

// SafeURL returns the URL if a page may link to it, or "".
func SafeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}

// DeployedAt links to a deployment; the text is what identifies it to people.
func DeployedAt(raw string) *Link {
	if raw == "" {
		return nil
	}
	link := &Link{Text: raw, URL: SafeURL(raw)}
	if u, err := url.Parse(link.URL); err == nil && link.URL != "" {
		link.Text = u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
	}
	return link
}

// Commit links to the commit of a deployment: as the notification says, or in its repository.
func Commit(d v1alpha1.Deployment) *Link {
	if d.SHA == "" {
		return nil
	}
	return &Link{Text: commit.ShortSHA(d.SHA), URL: cmp.Or(SafeURL(d.CommitURL), CommitURL(d, d.SHA))}
}

// CommitURL returns the URL of a commit of the repository of a deployment, or "" if it is not known.
func CommitURL(d v1alpha1.Deployment, sha string) string {
	base := repositoryURL(d)
	if base == "" || !commit.IsSHA(sha) {
		return ""
	}
	return base + codehost.Of(d.HostingService).CommitPath + sha
}

// PullRequest links to the pull or merge request of a deployment; nil without one.
func PullRequest(d v1alpha1.Deployment) *Link {
	if d.PullRequestNumber == 0 {
		return nil
	}
	host := codehost.Of(d.HostingService)
	link := &Link{Text: fmt.Sprint(host.Sign, d.PullRequestNumber)}
	if base := repositoryURL(d); base != "" {
		link.URL = fmt.Sprint(base, host.PullRequestPath, d.PullRequestNumber)
	}
	return link
}

// pullRequestOf prefers the pull request that the code host named.
func pullRequestOf(s *v1alpha1.Suite) *Link {
	r := s.Status.Report
	if r == nil || r.PullRequest == nil || r.PullRequest.Number == 0 {
		return PullRequest(s.Spec.Deployment)
	}
	link := PullRequest(v1alpha1.Deployment{HostingService: r.HostingService, Repository: r.Repository,
		PullRequestNumber: r.PullRequest.Number})
	if found := SafeURL(r.PullRequest.URL); found != "" {
		link.URL = found
	}
	return link
}

var repository = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+$`)

// repositoryURL cuts the URL of the commit, so that self-hosted code hosts work, too, or assumes the public service.
func repositoryURL(d v1alpha1.Deployment) string {
	host := codehost.Of(d.HostingService)
	if base, _, found := strings.Cut(SafeURL(d.CommitURL), host.CommitPath); found {
		return base
	}
	if host.Site == "" || !repository.MatchString(d.Repository) || strings.Contains(d.Repository, "..") {
		return ""
	}
	return host.Site + d.Repository
}

package view

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
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
	return base + separator(d) + "/commit/" + sha
}

// PullRequest links to the pull or merge request of a deployment; nil without one.
func PullRequest(d v1alpha1.Deployment) *Link {
	if d.PullRequestNumber == 0 {
		return nil
	}
	link, sign, path := &Link{}, "#", "/pull/"
	if d.HostingService == v1alpha1.GitLab {
		sign, path = "!", "/merge_requests/"
	}
	link.Text = fmt.Sprintf("%s%d", sign, d.PullRequestNumber)
	if base := repositoryURL(d); base != "" {
		link.URL = fmt.Sprintf("%s%s%s%d", base, separator(d), path, d.PullRequestNumber)
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
	if base, _, found := strings.Cut(SafeURL(d.CommitURL), separator(d)+"/commit/"); found {
		return base
	}
	if !repository.MatchString(d.Repository) || strings.Contains(d.Repository, "..") {
		return ""
	}
	public, known := publicServices[cmp.Or(d.HostingService, v1alpha1.GitHub)]
	if !known { // of a later version
		return ""
	}
	return public + d.Repository
}

var publicServices = map[v1alpha1.HostingService]string{v1alpha1.GitHub: "https://github.com/", v1alpha1.GitLab: "https://gitlab.com/"}

// separator is what GitLab writes between a repository and what belongs to it.
func separator(d v1alpha1.Deployment) string {
	if d.HostingService == v1alpha1.GitLab {
		return "/-"
	}
	return ""
}

package codehost

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Sites are where people find the repositories of code hosts. Each ends in a slash.
type Sites map[v1alpha1.HostingService]string

// SiteOf returns where people find the repositories of the code host whose API has a URL; empty: that is not known. The URL is the
// operator's.
func SiteOf(name v1alpha1.HostingService, apiURL string) string {
	host := Of(name)
	u, err := url.Parse(apiURL)
	switch {
	case err != nil, u.Host == "", u.User != nil, u.Scheme != "http" && u.Scheme != "https":
		return ""
	case strings.TrimRight(apiURL, "/") == host.URL:
		return host.Site
	default: // GitHub Enterprise Server has its API below its site. The URL of GitLab is the URL of its site
		return u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/v3") + "/"
	}
}

// repositoryPath has no segments that lead out of the site.
var repositoryPath = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+$`)

// Waiting returns where people find a deployment that waits; empty: that is not known. GitLab has no page for one deployment whose
// Environment is known only by its name.
func (s Sites) Waiting(r v1alpha1.DeploymentReviewSpec) string {
	site := s[r.HostingService]
	if site == "" || !repositoryPath.MatchString(r.Repository) || strings.Contains(r.Repository, "..") {
		return ""
	}
	switch {
	case r.HostingService == v1alpha1.GitHub && r.RunID > 0:
		return fmt.Sprintf("%s%s/actions/runs/%d", site, r.Repository, r.RunID)
	case r.HostingService == v1alpha1.GitLab:
		return site + r.Repository + "/-/environments"
	default:
		return ""
	}
}

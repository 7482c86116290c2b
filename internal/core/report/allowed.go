package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// HostOf returns the host of an API as entries of a Team name it: in lower case, without the default port. It is "" if there is none.
func HostOf(service v1alpha1.HostingService, apiURL string) string {
	u, err := url.Parse(apiURL)
	if err != nil {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	server := strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/api/v3") // GitHub Enterprise Server has API and repositories on one host
	if service == v1alpha1.GitHub && !server {
		host = strings.TrimPrefix(host, "api.")
	}
	port := u.Port()
	if port == "" || host == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		return host
	}
	return host + ":" + port
}

// Allowed reports whether a Team may use the manager's credentials for a repository. Entries are HOST/owner/name,
// or a beginning and /*; without HOST, they are on GitHub.
func Allowed(t Target, host string, entries []string) bool {
	for _, entry := range entries {
		if rest, found := strings.CutPrefix(commit.RepositoryKey(entry), host+"/"); found && host != "" &&
			commit.RepositoryMatches(rest, t.Repository) {
			return true
		}
	}
	return t.Host == v1alpha1.GitHub && ListedWithoutHost(t, entries)
}

// ListedWithoutHost reports whether an entry without a host names the repository of a target.
func ListedWithoutHost(t Target, entries []string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return commit.RepositoryMatches(entry, t.Repository) })
}

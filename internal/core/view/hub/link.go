package hub

import (
	"net/url"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// link returns a link of a cluster if it leads there, and otherwise the path at the URL of the cluster, in segments: the pages of a hub
// link to no other place because a cluster says so.
func link(base, raw string, segments ...string) string {
	to, err := url.Parse(view.SafeURL(base))
	if err != nil || to.Host == "" {
		return ""
	}
	if found, err := url.Parse(view.SafeURL(raw)); err == nil && found.Host != "" && strings.EqualFold(found.Host, to.Host) {
		return found.String()
	}
	path := ""
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return publicurl.Join(to.String(), path)
}

package suite

import "github.com/postflight-dev/postflight/internal/core/text/publicurl"

// PageURL is the address of a run's page. It never changes, because it ends up in CI logs, in checks and in chat.
func PageURL(publicURL, namespace, name string) string {
	return publicurl.Join(publicURL, "/runs/"+namespace+"/"+name)
}

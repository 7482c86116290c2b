package suite

import "github.com/postflight-dev/postflight/internal/core/publicurl"

// PageURL is the address of a run's page. Its form is stable, because it ends up in CI logs, in checks on code
// hosts and in chat.
func PageURL(publicURL, namespace, name string) string {
	return publicurl.Join(publicURL, "/runs/"+namespace+"/"+name)
}

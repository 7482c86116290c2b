package credential

import (
	"net/url"

	"github.com/postflight-dev/postflight/internal/core/text/serverurl"
)

// InTheClear reports whether requests to the server leave this machine without TLS.
func InTheClear(address string) bool {
	u, err := url.Parse(address)
	return err == nil && serverurl.InTheClear(u)
}

package credential

import (
	"net/netip"
	"net/url"
	"strings"
)

// InTheClear reports whether requests to the server leave this machine without TLS.
func InTheClear(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.Unmap().IsLoopback()
}

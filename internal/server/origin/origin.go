// Package origin refuses requests that another site makes a browser send: for the run pages, and for what agents ask.
package origin

import (
	"net"
	"net/http"
	"strings"
)

// SameOnly returns a handler that refuses requests of pages of other sites, unless they only read. The public origin, such as
// https://postflight.example.com, is right whatever host a proxy forwards; it may be empty.
func SameOnly(public string, next, refuse http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	if public != "" {
		_ = protection.AddTrustedOrigin(public) // its flag was checked
	}
	protection.SetDenyHandler(refuse)
	return protection.Handler(next)
}

// Hosts are the names under which people reach the server.
type Hosts map[string]bool

// HostsOf returns the names that are not empty.
func HostsOf(names ...string) Hosts {
	hosts := Hosts{}
	for _, name := range names {
		if name != "" {
			hosts[strings.ToLower(name)] = true
		}
	}
	return hosts
}

// Know refuses names of other sites that resolve to this server. No other site can have the names of this machine. Without names, each host
// is known.
func (h Hosts) Know(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	address := net.ParseIP(host)
	return len(h) == 0 || h[host] || host == "localhost" || address != nil && address.IsLoopback()
}

// Package serverurl checks the URLs of servers that get secrets, or whose answers decide who is let in.
package serverurl

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// Check returns what is wrong with the URL of a server that needs TLS. It completes "must be an https URL, because". Only this machine
// needs no TLS.
func Check(text, because string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must be an absolute https URL")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must have no user, query or fragment")
	case InTheClear(u):
		return errors.New("must be an https URL, because " + because)
	}
	return nil
}

// InTheClear reports whether requests to a server leave this machine without TLS.
func InTheClear(u *url.URL) bool { return u.Scheme == "http" && !onThisMachine(u.Hostname()) }

func onThisMachine(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

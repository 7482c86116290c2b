// Package publicurl joins paths to the URL of a server, and cuts them from it: that URL may have a base path.
package publicurl

import (
	"errors"
	"net/url"
	"strings"
)

// URL is where people and CI reach a server.
type URL struct {
	Origin string // scheme, host and port; empty if that is unknown
	Host   string // without the port
	Base   string // the base path, without a slash at its end
	Secure bool   // over https
}

// Parse reads a URL, which may be empty or lack the host.
func Parse(text string) (URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return URL{}, err
	}
	public := URL{Base: strings.TrimRight(u.Path, "/"), Secure: u.Scheme == "https"}
	if u.Host != "" {
		public.Host, public.Origin = u.Hostname(), u.Scheme+"://"+u.Host
	}
	return public, nil
}

// Check returns why paths cannot be joined to the URL.
func Check(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("must be an absolute http or https URL")
	}
	return nil
}

// Join appends a path, which starts with a slash, to the URL of a server. Without a URL the result is the path.
func Join(server, path string) string { return strings.TrimRight(server, "/") + path }

// Below returns the path of a request without the base path, which proxies may or may not have removed.
func (u URL) Below(path string) string {
	if path == u.Base && path != "" {
		return "/"
	}
	if rest, inside := strings.CutPrefix(path, u.Base+"/"); inside {
		return "/" + rest
	}
	return path
}

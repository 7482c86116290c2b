package signin

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// person returns the person whom the proxy has authenticated. It ignores headers from elsewhere.
func (c *ProxyConfig) person(r *http.Request) (p Person, ok bool) {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(c.from, func(p netip.Prefix) bool { return p.Contains(address.Addr().Unmap()) }) {
		return Person{}, false
	}
	names, groups := r.Header.Values(c.UserHeader), r.Header.Values(c.GroupsHeader)
	if len(names) != 1 || names[0] == "" || len(groups) > 1 { // a client may have sent one of its own
		return Person{}, false
	}
	p.Name = names[0]
	for group := range strings.SplitSeq(strings.Join(groups, ""), ",") {
		if group = strings.TrimSpace(group); group != "" {
			p.Groups = append(p.Groups, group)
		}
	}
	return p, true
}

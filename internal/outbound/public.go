package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrForbidden is the error for an address that a client of Public refuses.
var ErrForbidden = errors.New("the address is not allowed")

// Public returns a client for addresses that a team chose: public ones by https, and allowed networks also by http. It checks them when it
// dials, because names can change, and uses no proxy, which would connect to any address.
func Public(allowed []netip.Prefix) *http.Client {
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	secure, plain := transport(nil, control(guardian.SafeAddrPort)), transport(nil, control(only(allowed)))
	// Teams may share a host, and one of them must not take all connections.
	secure.MaxConnsPerHost, plain.MaxConnsPerHost = 0, 0
	return newClient(bySchemes{secure: secure, plain: plain})
}

type bySchemes struct{ secure, plain http.RoundTripper }

func (b bySchemes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return b.secure.RoundTrip(r)
	}
	return b.plain.RoundTrip(r)
}

func only(allowed []netip.Prefix) func(netip.AddrPort) error {
	return func(to netip.AddrPort) error {
		if slices.ContainsFunc(allowed, func(p netip.Prefix) bool { return p.Contains(to.Addr()) }) {
			return nil
		}
		return fmt.Errorf("plain http to %s", to.Addr())
	}
}

func control(check func(netip.AddrPort) error) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err == nil {
			err = check(netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port()))
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrForbidden, err)
		}
		return nil
	}
}

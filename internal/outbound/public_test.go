package outbound_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postflight-dev/postflight/internal/outbound"
)

// TestPrivateAddresses: nothing connects to them, however they are written and whatever the scheme.
func TestPrivateAddresses(t *testing.T) {
	client := outbound.Public(nil)
	for name, host := range map[string]string{
		"loopback":                  "127.0.0.1",
		"all of loopback":           "127.255.0.9",
		"a name for loopback":       "localhost",
		"loopback as a number":      "2130706433",
		"loopback in short":         "127.1",
		"this host":                 "0.0.0.0",
		"ten":                       "10.0.0.1",
		"172.16":                    "172.31.255.255",
		"192.168":                   "192.168.1.1",
		"shared by carriers":        "100.64.0.1",
		"link-local":                "169.254.1.1",
		"metadata of clouds":        "169.254.169.254",
		"protocol assignments":      "192.0.0.170",
		"benchmarks":                "198.18.0.1",
		"documentation":             "203.0.113.7",
		"multicast":                 "224.0.0.1",
		"reserved":                  "240.0.0.1",
		"broadcast":                 "255.255.255.255",
		"IPv6 loopback":             "[::1]",
		"unspecified":               "[::]",
		"mapped loopback":           "[::ffff:127.0.0.1]",
		"mapped ten":                "[::ffff:10.0.0.1]",
		"mapped metadata":           "[::ffff:a9fe:a9fe]",
		"compatible":                "[::127.0.0.1]",
		"translated by NAT64":       "[64:ff9b::10.0.0.1]",
		"metadata by NAT64":         "[64:ff9b::a9fe:a9fe]",
		"a local prefix of NAT64":   "[64:ff9b:1::10.0.0.1]",
		"unique local":              "[fd00:ec2::254]",
		"IPv6 link-local":           "[fe80::1]",
		"IPv6 link-local of a zone": "[fe80::1%25lo]",
		"IPv6 multicast":            "[ff02::1]",
		"6to4 of ten":               "[2002:a00:1::]",
		"Teredo":                    "[2001:0:a00:1::]",
		"IPv6 documentation":        "[2001:db8::1]",
		"discarded":                 "[100::1]",
	} {
		for _, scheme := range []string{"http", "https"} {
			resp, err := client.Get(scheme + "://" + host + ":9/")
			if err == nil {
				resp.Body.Close()
			}
			unresolved := (*net.DNSError)(nil)
			if !errors.Is(err, outbound.ErrForbidden) && !errors.As(err, &unresolved) {
				t.Errorf("%s by %s: got %v", name, scheme, err)
			}
		}
	}
}

// TestAllowedNetworks: the operator can allow private networks, and only these are called without TLS.
func TestAllowedNetworks(t *testing.T) {
	var requests atomic.Int32
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "http://127.0.0.1:9/elsewhere", http.StatusFound)
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	mapped := strings.Replace(plain.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)
	for name, tc := range map[string]struct {
		allowed, url string
		reached      bool
	}{
		"that network":           {"127.0.0.0/8", plain.URL, true},
		"a name in that network": {"127.0.0.0/8", strings.Replace(plain.URL, "127.0.0.1", "localhost", 1), true},
		"mapped, it is the same": {"127.0.0.0/8", mapped, true},
		"another network":        {"10.0.0.0/8", plain.URL, false},
		"another, mapped":        {"10.0.0.0/8", mapped, false},
		"another family":         {"fd00::/8", plain.URL, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := requests.Load()
			resp, err := outbound.Public([]netip.Prefix{netip.MustParsePrefix(tc.allowed)}).Get(tc.url)
			if err == nil {
				resp.Body.Close()
			}
			if got := requests.Load() - before; (got == 1) != tc.reached || (err == nil) != tc.reached {
				t.Errorf("%d requests arrived, and the error is %v", got, err)
			}
			if !tc.reached && !errors.Is(err, outbound.ErrForbidden) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPlainHTTPStaysPrivate: a public address needs TLS.
func TestPlainHTTPStaysPrivate(t *testing.T) {
	_, err := outbound.Public([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).Get("http://192.88.98.1:9/")
	if !errors.Is(err, outbound.ErrForbidden) {
		t.Errorf("got %v", err)
	}
}

// TestNoProxyForPublic: a proxy would connect to addresses that are not allowed.
func TestNoProxyForPublic(t *testing.T) {
	var requests atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	client := outbound.Public([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for _, url := range []string{"http://10.0.0.1:9/", "https://10.0.0.1:9/"} {
		if _, err := client.Get(url); !errors.Is(err, outbound.ErrForbidden) {
			t.Errorf("%s: got %v", url, err)
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("the proxy got %d requests", n)
	}
}

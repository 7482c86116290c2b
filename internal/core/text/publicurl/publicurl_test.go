package publicurl

import "testing"

func TestURL(t *testing.T) {
	cases := map[string]struct {
		url, path            string
		origin, joined, rest string
	}{
		"no base path":            {"https://ci.example.com:8443", "/runs", "https://ci.example.com:8443", "https://ci.example.com:8443/runs", "/runs"},
		"a slash at the end":      {"https://ci.example.com/", "/runs", "https://ci.example.com", "https://ci.example.com/runs", "/runs"},
		"the proxy kept it":       {"https://ci.example.com/pf/", "/pf/runs", "https://ci.example.com", "https://ci.example.com/pf/pf/runs", "/runs"},
		"the proxy removed it":    {"https://ci.example.com/pf", "/runs", "https://ci.example.com", "https://ci.example.com/pf/runs", "/runs"},
		"the base path alone":     {"https://ci.example.com/pf", "/pf", "https://ci.example.com", "https://ci.example.com/pf/pf", "/"},
		"a path that begins so":   {"https://ci.example.com/pf", "/pfx", "https://ci.example.com", "https://ci.example.com/pf/pfx", "/pfx"},
		"the server is not known": {"", "/runs", "", "/runs", "/runs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u, err := Parse(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			if rest, joined := u.Below(tc.path), Join(tc.url, tc.path); u.Origin != tc.origin || rest != tc.rest || joined != tc.joined {
				t.Errorf("%q, %q, %q, want %q, %q, %q", u.Origin, joined, rest, tc.origin, tc.joined, tc.rest)
			}
		})
	}
}

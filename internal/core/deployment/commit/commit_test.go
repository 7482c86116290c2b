package commit

import (
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b         Commit
		same, covers bool
	}{
		"equal":                               {Commit{"acme/shop", whole}, Commit{"acme/shop", whole}, true, true},
		"another spelling of the repository":  {Commit{"Acme/Shop", whole}, Commit{"acme/shop", whole}, true, true},
		"another spelling of the SHA":         {Commit{"acme/shop", strings.ToUpper(whole)}, Commit{"acme/shop", whole}, true, true},
		"a whole SHA of another repository":   {Commit{"acme/shop", whole}, Commit{"acme/fork", whole}, true, true},
		"a whole SHA without a repository":    {Commit{"acme/shop", whole}, Commit{"", whole}, true, true},
		"a version":                           {Commit{"acme/shop", "v1.0.0"}, Commit{"Acme/shop", "v1.0.0"}, true, true},
		"a version of another repository":     {Commit{"acme/shop", "v1.0.0"}, Commit{"acme/pay", "v1.0.0"}, false, false},
		"a version without a repository":      {Commit{"acme/shop", "v1.0.0"}, Commit{"", "v1.0.0"}, false, true},
		"versions without a repository":       {Commit{"", "v1.0.0"}, Commit{"", "v1.0.0"}, true, true},
		"a version in another case":           {Commit{"acme/shop", "V1.0.0"}, Commit{"acme/shop", "v1.0.0"}, false, false},
		"a short SHA":                         {Commit{"acme/shop", whole[:7]}, Commit{"acme/shop", whole}, false, true},
		"a short SHA without a repository":    {Commit{"", whole[:7]}, Commit{"acme/shop", whole}, false, true},
		"a short SHA of another repository":   {Commit{"acme/pay", whole[:7]}, Commit{"acme/shop", whole}, false, false},
		"two short SHAs":                      {Commit{"acme/shop", whole[:7]}, Commit{"acme/pay", whole[:7]}, false, false},
		"another commit of the repository":    {Commit{"acme/shop", whole}, Commit{"acme/shop", "v1.0.0"}, false, false},
		"a commit and no revision":            {Commit{"acme/shop", whole}, Commit{"acme/shop", ""}, false, false},
		"no revision in another repository":   {Commit{"acme/shop", ""}, Commit{"acme/pay", ""}, false, false},
		"no revision in the same repository":  {Commit{"acme/shop", ""}, Commit{"acme/shop", ""}, false, false},
		"the beginning of some other version": {Commit{"acme/shop", "release-2026"}, Commit{"acme/shop", "release-2026-11"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.a.Same(tc.b) != tc.same || tc.b.Same(tc.a) != tc.same {
				t.Errorf("Same(%v, %v): want %t", tc.a, tc.b, tc.same)
			}
			if tc.a.Covers(tc.b) != tc.covers || tc.b.Covers(tc.a) != tc.covers {
				t.Errorf("Covers(%v, %v): want %t", tc.a, tc.b, tc.covers)
			}
		})
	}
}

func TestRepositoryKey(t *testing.T) {
	for name, want := range map[string]string{
		"Acme/Shop": "acme/shop", "acme/web/Shop.js_2": "acme/web/shop.js_2", "": "",
		"acme/wor\u212aer": "acme/wor\u212aer", // the sign of the unit Kelvin, which is a k in lower case
		"acme/SH\u0130P":   "acme/sh\u0130p",
	} {
		if got := RepositoryKey(name); got != want {
			t.Errorf("RepositoryKey(%q) = %q; want %q", name, got, want)
		}
	}
}

func TestRepositoryMatches(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern, repository string
		want                bool
	}{
		"its name":                       {"acme/shop", "acme/shop", true},
		"another spelling":               {"Acme/Shop", "acme/SHOP", true},
		"another name":                   {"acme/docs", "acme/shop", false},
		"the beginning of its name":      {"acme/sho", "acme/shop", false},
		"its owner":                      {"acme/*", "acme/shop", true},
		"its owner, in another spelling": {"ACME/*", "Acme/shop", true},
		"a group above":                  {"acme/*", "acme/web/shop", true},
		"an owner alike":                 {"acme/*", "acme-labs/shop", false},
		"the owner itself":               {"acme/*", "acme", false},
		"no slash":                       {"acme*", "acme/shop", false},
		"no repository":                  {"acme/*", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RepositoryMatches(tc.pattern, tc.repository); got != tc.want {
				t.Errorf("RepositoryMatches(%q, %q) = %t", tc.pattern, tc.repository, got)
			}
		})
	}
}

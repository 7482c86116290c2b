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

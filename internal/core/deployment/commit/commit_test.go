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
		"equal":                               {New("acme/shop", "", whole), New("acme/shop", "", whole), true, true},
		"another spelling of the repository":  {New("Acme/Shop", "", whole), New("acme/shop", "", whole), true, true},
		"another spelling of the SHA":         {New("acme/shop", "", strings.ToUpper(whole)), New("acme/shop", "", whole), true, true},
		"a whole SHA of another repository":   {New("acme/shop", "", whole), New("acme/fork", "", whole), true, true},
		"a whole SHA without a repository":    {New("acme/shop", "", whole), New("", "", whole), true, true},
		"a version":                           {New("acme/shop", "", "v1.0.0"), New("Acme/shop", "", "v1.0.0"), true, true},
		"a version of another repository":     {New("acme/shop", "", "v1.0.0"), New("acme/pay", "", "v1.0.0"), false, false},
		"a version without a repository":      {New("acme/shop", "", "v1.0.0"), New("", "", "v1.0.0"), false, true},
		"versions without a repository":       {New("", "", "v1.0.0"), New("", "", "v1.0.0"), true, true},
		"a version in another case":           {New("acme/shop", "", "V1.0.0"), New("acme/shop", "", "v1.0.0"), false, false},
		"a short SHA":                         {New("acme/shop", "", whole[:7]), New("acme/shop", "", whole), false, true},
		"a short SHA without a repository":    {New("", "", whole[:7]), New("acme/shop", "", whole), false, true},
		"a short SHA of another repository":   {New("acme/pay", "", whole[:7]), New("acme/shop", "", whole), false, false},
		"two short SHAs":                      {New("acme/shop", "", whole[:7]), New("acme/pay", "", whole[:7]), false, false},
		"another commit of the repository":    {New("acme/shop", "", whole), New("acme/shop", "", "v1.0.0"), false, false},
		"a commit and no revision":            {New("acme/shop", "", whole), New("acme/shop", "", ""), false, false},
		"no revision in another repository":   {New("acme/shop", "", ""), New("acme/pay", "", ""), false, false},
		"no revision in the same repository":  {New("acme/shop", "", ""), New("acme/shop", "", ""), false, false},
		"a service":                           {New("acme/mono", "cart", whole), New("Acme/mono", "cart", whole), true, true},
		"another service":                     {New("acme/mono", "cart", whole), New("acme/mono", "checkout", whole), false, false},
		"a service in another case":           {New("acme/mono", "cart", whole), New("acme/mono", "Cart", whole), false, false},
		"a service and the whole repository":  {New("acme/mono", "cart", whole), New("acme/mono", "", whole), false, true},
		"a version of another service":        {New("acme/mono", "cart", "v1"), New("acme/mono", "checkout", "v1"), false, false},
		"the beginning of some other version": {New("acme/shop", "", "release-2026"), New("acme/shop", "", "release-2026-11"), false, false},
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

func TestMayBeSamePart(t *testing.T) {
	cart := PartOf("acme/mono", "cart")
	for name, tc := range map[string]struct {
		other                 Part
		same, overlaps, maybe bool
	}{
		"itself":                            {PartOf("Acme/Mono", "cart"), true, true, true},
		"another service":                   {PartOf("acme/mono", "checkout"), false, false, false},
		"the whole repository":              {PartOf("acme/mono", ""), false, true, true},
		"its name in another repository":    {PartOf("acme/shop", "cart"), false, false, false},
		"its name without a repository":     {PartOf("", "cart"), false, false, true},
		"another one without a repository":  {PartOf("", "checkout"), false, false, false},
		"nothing is known of it":            {Part{}, false, false, true},
		"another repository without a name": {PartOf("acme/shop", ""), false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if cart.SamePart(tc.other) != tc.same || tc.other.SamePart(cart) != tc.same {
				t.Errorf("SamePart: want %t", tc.same)
			}
			if cart.Overlaps(tc.other) != tc.overlaps || tc.other.Overlaps(cart) != tc.overlaps {
				t.Errorf("Overlaps: want %t", tc.overlaps)
			}
			if cart.MayBeSamePart(tc.other) != tc.maybe || tc.other.MayBeSamePart(cart) != tc.maybe {
				t.Errorf("MayBeSamePart: want %t", tc.maybe)
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

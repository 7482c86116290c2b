package delegation

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

func TestEncode(t *testing.T) {
	longest := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("%s%03d", strings.Repeat("e", 60), i))
		}
		return names
	}
	cases := map[string]struct {
		reason string
		d      Delegation
		fails  string
	}{
		"least":           {"one Environment", Delegation{Environments: []string{"prod"}}, ""},
		"whole":           {"every field", Delegation{Hub: "https://ci.example.com", For: "the API key ci", Environments: []string{"prod", "load"}, Bounds: grant.Bounds{DeploymentTypes: []string{"production"}, Environments: []string{"prod*"}}, Event: true, DeployedAt: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)}, ""},
		"most":            {"64 of the longest names fit beside what proxies add", Delegation{Hub: strings.Repeat("h", 256), For: strings.Repeat("f", 256), Environments: longest(MaxEnvironments)}, ""},
		"too many":        {"the cluster would refuse it", Delegation{Environments: longest(MaxEnvironments + 1)}, "64 are allowed"},
		"too many bounds": {"a header has a bound, too", Delegation{Environments: longest(1), Bounds: grant.Bounds{Environments: longest(100)}}, "the sender's rights have too many names"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			value, err := tc.d.Encode()
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			got, err := Decode(value)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(&tc.d, got); diff != "" {
				t.Errorf("%s: what comes back differs:\n%s", tc.reason, diff)
			}
		})
	}
}

func encoded(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestDecode(t *testing.T) {
	const least = `{"environments":["prod"]}`
	cases := map[string]struct {
		reason string
		value  string
		fails  bool
	}{
		"least":                {"the rest may be absent", encoded(least), false},
		"unknown member":       {"a newer hub may say more", encoded(`{"environments":["prod"],"shade":"red"}`), false},
		"empty":                {"a header without a value is no delegation", "", true},
		"no Environments":      {"it would be about all of them", encoded(`{"hub":"h"}`), true},
		"empty Environments":   {"it would be about all of them", encoded(`{"environments":[]}`), true},
		"null":                 {"it would be about all of them", encoded(`null`), true},
		"other type":           {"a text is no list", encoded(`{"environments":"prod"}`), true},
		"list":                 {"of what?", encoded(`["prod"]`), true},
		"trailing":             {"two documents are none", encoded(least + least), true},
		"padded":               {"one way to write it", encoded(least) + "=", true},
		"JSON":                 {"it is encoded", least, true},
		"too long":             {"most of all headers of a request", strings.Repeat("A", maxHeader+1), true},
		"too many":             {"a hub sends 64 at most", encoded(`{"environments":["e"` + strings.Repeat(`,"e"`, MaxEnvironments) + `]}`), true},
		"deep":                 {"it ends", encoded(strings.Repeat("[", 6000)), true},
		"time that is no time": {"it would be the zero time", encoded(`{"environments":["prod"],"deployedAt":"soon"}`), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := Decode(tc.value)
			if (err != nil) != tc.fails || (d == nil) != tc.fails {
				t.Errorf("%s: got %+v, %v", tc.reason, d, err)
			}
		})
	}
}

// TestDecodeCleansNames: a hub that was taken over writes them, and people read them in audit lines, beside others.
func TestDecodeCleansNames(t *testing.T) {
	d, err := Decode(encoded(`{"hub":"a\n{\"user\":\"root\"}\u202e\u001b[31m","for":"` + strings.Repeat("x", 3000) + `","environments":["prod"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(d.Hub, "\n\x1b\u202e") || len(d.For) > maxShown {
		t.Errorf("got %q, and %d bytes", d.Hub, len(d.For))
	}
	if by := d.By("the token of system:serviceaccount:hub"); !strings.HasSuffix(by, ", by the token of system:serviceaccount:hub") {
		t.Errorf("%q does not end with the sender that the cluster has verified", by)
	}
}

// TestNarrow: a Delegation takes rights away, and never adds one.
func TestNarrow(t *testing.T) {
	lists := [][]string{nil, {"a"}, {"a*"}, {"ab", "b*"}, {"*"}}
	names := []string{"a", "ab", "b", "c"}
	for _, has := range lists {
		for _, bounds := range lists {
			own := grant.Grant{Actions: []grant.Action{grant.Notify}, Environments: has, DeploymentTypes: has, Commit: "5ca1ab1e", Branches: []string{"main"},
				Repositories: []string{"acme/shop"}, Runs: []string{"r"}, Acts: grant.Bounds{Environments: has, DeploymentTypes: has}}
			d := &Delegation{Environments: []string{"a"}, Bounds: grant.Bounds{Environments: bounds, DeploymentTypes: bounds}}
			got := d.Narrow(own)
			for _, name := range names {
				want := grant.Matches(has, name) && grant.Matches(bounds, name)
				for what, patterns := range map[string][]string{
					"Environments": got.Environments, "DeploymentTypes": got.DeploymentTypes,
					"Acts.Environments": got.Acts.Environments, "Acts.DeploymentTypes": got.Acts.DeploymentTypes,
				} {
					if grant.Matches(patterns, name) != want {
						t.Errorf("%s %q of a hub with %q, for a sender with %q: want %v for %s", what, patterns, has, bounds, want, name)
					}
				}
			}
			if got.Knows("b") || !got.Knows("a") {
				t.Errorf("it knows %q, want only what the hub names", got.Known)
			}
			got.Known, got.Environments, got.DeploymentTypes, got.Acts = own.Known, own.Environments, own.DeploymentTypes, own.Acts
			if diff := cmp.Diff(own, got); diff != "" {
				t.Errorf("what the hub is granted has changed:\n%s", diff)
			}
		}
	}
}

package grant

import (
	"testing"

	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// TestBoth: a name matches Both exactly if it matches both lists.
func TestBoth(t *testing.T) {
	patterns := []string{"", "*", "a", "a*", "ab", "ab*", "b*", "abc"}
	names := []string{"", "a", "ab", "abc", "abd", "b", "bc", "c", "*"}
	lists := [][]string{nil}
	for _, x := range patterns {
		lists = append(lists, []string{x})
		for _, y := range patterns {
			lists = append(lists, []string{x, y}, []string{"abc", x, y})
		}
	}
	for _, a := range lists {
		for _, b := range lists {
			both := Both(a, b)
			for _, name := range names {
				if want := Matches(a, name) && Matches(b, name); Matches(both, name) != want {
					t.Fatalf("%q matches %q: %v, and %q: %v; but of Both, %q, it matches %v",
						name, a, Matches(a, name), b, Matches(b, name), both, !want)
				}
			}
		}
	}
}

func TestKnows(t *testing.T) {
	const url = "https://pr-1.example.com"
	cases := map[string]struct {
		reason           string
		known            []string
		environment, url string
		want             bool
	}{
		"no hub":               {"all Environments exist", nil, "staging", "", true},
		"named":                {"the hub names it", []string{"preview", "staging"}, "staging", "", true},
		"not named":            {"it does not exist for the hub", []string{"preview"}, "staging", "", false},
		"beginning":            {"names are no patterns", []string{"stag*", "*"}, "staging", "", false},
		"its base":             {"the run of an ephemeral Environment, which may be gone", []string{"preview"}, suite.EphemeralName("preview", url), url, true},
		"the base of another":  {"the hash has the base in it", []string{"staging"}, suite.EphemeralName("preview", url), url, false},
		"of another URL":       {"the hash has the URL in it", []string{"preview"}, suite.EphemeralName("preview", url), url + "/", false},
		"named like ephemeral": {"an Environment with such a name is another one", []string{"preview"}, "preview-0123456789", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Grant{Known: tc.known}).KnowsRun(tc.environment, tc.url); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

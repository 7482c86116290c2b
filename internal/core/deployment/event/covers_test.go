package event_test

import (
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

func TestCovers(t *testing.T) {
	cases := map[string]struct {
		reason     string
		patterns   []string
		repository string
		want       bool
	}{
		"no list":               {"the secret is enough", nil, "acme/shop", true},
		"its name":              {"it is listed", []string{"acme/docs", "acme/shop"}, "acme/shop", true},
		"in another spelling":   {"code hosts ignore the case of names", []string{"Acme/Shop"}, "acme/SHOP", true},
		"in other letters":      {"the sign of the unit Kelvin is no k", []string{"acme/wor\u212aer"}, "acme/worker", false},
		"another name":          {"it is not listed", []string{"acme/docs"}, "acme/shop", false},
		"its owner":             {"all of the owner are listed", []string{"acme/*"}, "acme/shop", true},
		"an owner alike":        {"a slash ends the name of the owner", []string{"acme/*"}, "acme-labs/shop", false},
		"a group above":         {"a group has the projects of its subgroups", []string{"acme/*"}, "acme/web/shop", true},
		"none":                  {"the event names no repository", []string{"acme/*"}, "", false},
		"a beginning of a name": {"only whole names are listed", []string{"acme/sho"}, "acme/shop", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := event.Covers(tc.patterns, tc.repository); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

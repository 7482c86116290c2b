package notification_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/notification"
)

func TestSameSHA(t *testing.T) {
	commit := "9c1d2e3f" + strings.Repeat("0", 32)
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"equal commits":            {commit, commit, true},
		"another case":             {commit, strings.ToUpper(commit), true},
		"seven digits":             {commit, "9c1d2e3", true},
		"seven digits, upper case": {commit, "9C1D2E3", true},
		"six digits":               {commit, "9c1d2e", false},
		"other digits":             {commit, "9c1d2e4", false},
		"no digits":                {commit, "", false},
		"a version":                {"v1.2.3", "v1.2.3", true},
		"the beginning of a text":  {"release-2026-11", "release-2026", false},
		"two short ones":           {"9c1d2e3", "9c1d2e3f", false},
		"other commits":            {commit, "8" + commit[1:], false},
	} {
		t.Run(name, func(t *testing.T) {
			if notification.SameSHA(tc.a, tc.b) != tc.want || notification.SameSHA(tc.b, tc.a) != tc.want {
				t.Errorf("%q and %q: want %t", tc.a, tc.b, tc.want)
			}
		})
	}
}

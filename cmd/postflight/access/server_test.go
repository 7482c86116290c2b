package access

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/access/apikey"
)

func TestTruncatedKey(t *testing.T) {
	good := apikey.New("acme")
	for key, want := range map[string]bool{good: false, good[:len(good)-1]: true, good[:20]: true, "pf_acme_": true, good + "0": false,
		"pf_" + strings.Repeat("a", 20): false, "qawolf_0123456789abcdef": false} {
		if got := truncatedKey.MatchString(key); got != want {
			t.Errorf("%s: %t, want %t", key, got, want)
		}
	}
}

func TestTraceContext(t *testing.T) {
	const ids = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	cases := map[string]struct{ parent, state, wantParent, wantState string }{
		"both":                {parent: "00" + ids, state: "vendor=1,other=2", wantParent: "00" + ids, wantState: "vendor=1,other=2"},
		"no state":            {parent: "00" + ids, wantParent: "00" + ids},
		"a later version":     {parent: "01" + ids + "-more", wantParent: "00" + ids},
		"a wrong state":       {parent: "00" + ids, state: "a\nb", wantParent: "00" + ids},
		"neither":             {},
		"a state alone":       {state: "vendor=1"},
		"version ff":          {parent: "ff" + ids},
		"more than version 0": {parent: "00" + ids + "-more"},
		"no trace":            {parent: "00-00000000000000000000000000000000-b7ad6b7169203331-01"},
		"no span":             {parent: "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"},
		"capital letters":     {parent: "00" + strings.ToUpper(ids)},
		"another header":      {parent: "00" + ids + "\r\nX-Other: 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"TRACEPARENT": tc.parent, "TRACESTATE": tc.state}
			if parent, state := traceContext(func(name string) string { return env[name] }); parent != tc.wantParent || state != tc.wantState {
				t.Errorf("%q, %q; want %q, %q", parent, state, tc.wantParent, tc.wantState)
			}
		})
	}
}

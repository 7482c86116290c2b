package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
)

func TestTruncatedKey(t *testing.T) {
	good := apikey.New("acme")
	for key, want := range map[string]bool{good: false, good[:len(good)-1]: true, good[:20]: true, "pf_acme_": true, good + "0": false,
		"pf_" + strings.Repeat("a", 20): false, "qawolf_0123456789abcdef": false} {
		if got := access.TruncatedKey.MatchString(key); got != want {
			t.Errorf("%s: %t, want %t", key, got, want)
		}
	}
}

// The warning appears once, on standard error, unless the user trusts the network.
func TestWarnsOfPlainHTTP(t *testing.T) {
	cases := map[string]struct {
		url, allow string
		want       int
	}{
		"http":              {"http://postflight.example.com", "", 1},
		"http, allowed":     {"http://postflight.example.com", "1", 0},
		"http, not allowed": {"http://postflight.example.com", "0", 1},
		"http, misspelt":    {"http://postflight.example.com", "please", 1},
		"http to this host": {"http://127.0.0.1:1", "", 0},
		"https":             {"https://postflight.example.com", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_URL", tc.url)
			t.Setenv("POSTFLIGHT_ALLOW_HTTP", tc.allow)
			t.Setenv("POSTFLIGHT_API_KEY", "qawolf_0123456789abcdef")
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // nothing is sent
			var out, log bytes.Buffer
			root := newRoot()
			root.SetOut(&out)
			root.SetErr(&log)
			root.SetArgs([]string{"wait", "a", "b"})
			if err := root.ExecuteContext(ctx); err == nil {
				t.Fatal("no error without a server")
			}
			if got := strings.Count(log.String(), "over plain http"); got != tc.want || strings.Contains(out.String(), "plain http") {
				t.Errorf("%d warnings, want %d:\n%s", got, tc.want, log.String())
			}
		})
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
			if parent, state := access.TraceContext(func(name string) string { return env[name] }); parent != tc.wantParent || state != tc.wantState {
				t.Errorf("%q, %q; want %q, %q", parent, state, tc.wantParent, tc.wantState)
			}
		})
	}
}

// TestTraceOfThePipeline: what starts runs continues it, and nothing else.
func TestTraceOfThePipeline(t *testing.T) {
	const parent, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1"
	api := &anAPI{deploy: `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1"}`, runs: []httpapi.Run{apiRun("smoke-1", exitCode1)}}
	api.start(t)
	t.Setenv("TRACEPARENT", parent)
	t.Setenv("TRACESTATE", state)
	for args, want := range map[string]int{"notify --no-detect --sha cafe": cli.ExitPassed, "wait smoke-1": cli.ExitFailed, "runs show smoke-1": cli.ExitPassed} {
		if out, log, code := invoke(t, strings.Fields(args)...); code != want {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, log)
		}
	}
	want := map[string][]string{parent + " " + state: {"POST /api/webhooks/deploy_success"}}
	for _, r := range api.requests {
		if strings.HasPrefix(r, "GET ") {
			want[" "] = append(want[" "], r)
		}
	}
	if diff := cmp.Diff(want, api.traces); diff != "" || len(want[" "]) == 0 {
		t.Errorf("requests by their trace, want (-), got (+):\n%s", diff)
	}
}

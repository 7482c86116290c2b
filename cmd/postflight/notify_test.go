package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// Integrations rely on the names of these variables, which replace flags.
func TestNotifyByVariables(t *testing.T) {
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"results":[],"explanations":[]}`)
	}))
	defer server.Close()
	for name, value := range map[string]string{"POSTFLIGHT_URL": server.URL, "POSTFLIGHT_API_KEY": "k", "POSTFLIGHT_BRANCH": "$(touch pwned)",
		"POSTFLIGHT_SHA": "cafe", "POSTFLIGHT_DEPLOYMENT_TYPE": "staging", "POSTFLIGHT_DEPLOYMENT_URL": "https://staging.example.com"} {
		t.Setenv(name, value)
	}
	want := map[string]any{"branch": "$(touch pwned)", "sha": "cafe", "deployment_type": "staging", "deployment_url": "https://staging.example.com"}
	for _, args := range [][]string{{"notify", "--no-detect", "--allow-no-match", "--branch="}, {"explain", "--no-detect"}} {
		if code := execute(t.Context(), args); code != 0 {
			t.Errorf("%v ended with %d", args, code)
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("%v\n%s", args, diff)
		}
	}
}

func TestNotifyRerun(t *testing.T) {
	const duplicate = `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1"}`
	cases := map[string]struct {
		deploy   string
		runs     []httpapi.Run
		attempts map[string]string
		code     int
		out, log string
		reruns   int
	}{
		"a new run":          {deploy: `{"trigger_id":"smoke","created_suite_id":"smoke-1"}`, out: "  smoke  started smoke-1\n"},
		"a run that goes on": {deploy: duplicate, runs: []httpapi.Run{apiRun("smoke-1")}, out: "  smoke  already exists: smoke-1\n"},
		"a run that has ended": {deploy: duplicate, runs: []httpapi.Run{apiRun("smoke-1", exitCode1), apiRun("smoke-2")}, attempts: map[string]string{"smoke-1": "smoke-2"},
			out: "  smoke  started smoke-2\n", log: "smoke-1 has ended. This is attempt 1 of it:", reruns: 1},
		"a newer deployment": {deploy: duplicate, runs: []httpapi.Run{apiRun("smoke-1", exitCode1)}, code: exitTrouble, out: "could not start: A newer deployment came."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			api := &anAPI{deploy: tc.deploy, runs: tc.runs, attempts: tc.attempts}
			api.start(t)
			out, log, code := invoke(t, strings.Fields("notify --no-detect --sha cafe --rerun")...)
			if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(log, tc.log) || api.reruns != tc.reruns {
				t.Errorf("exit code %d, %d reruns, want %d, %d, %q and %q in\n%s%s", code, api.reruns, tc.code, tc.reruns, tc.out, tc.log, out, log)
			}
		})
	}
}

func TestNotifyTerminated(t *testing.T) {
	cases := map[string]struct {
		args     string
		notFound string
		code     int
		says     string
	}{
		"it is deleted":           {args: "--deployment-url https://pr-7.example.com", says: "  pr-7  terminated, canceling: smoke-1, smoke-2\n"},
		"as JSON":                 {args: "--deployment-url https://pr-7.example.com -o json", says: `"environmentAlias": "pr-7"`},
		"it is not known":         {args: "--deployment-url https://pr-7.example.com", notFound: "environment_not_found", code: 3, says: "--allow-no-match makes this exit 0"},
		"it is not known, ok":     {args: "--deployment-url https://pr-7.example.com --allow-no-match", notFound: "environment_not_found", says: "There is no ephemeral Environment"},
		"no URL":                  {code: 3, says: "--terminated needs --deployment-url"},
		"with what starts runs":   {args: "--deployment-url https://pr-7.example.com --wait", code: 3, says: "starts no runs"},
		"with what starts others": {args: "--deployment-url https://pr-7.example.com --rerun", code: 3, says: "starts no runs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			(&anAPI{notFound: tc.notFound}).start(t)
			out, log, code := invoke(t, append(strings.Fields("notify --no-detect --terminated"), strings.Fields(tc.args)...)...)
			if code != tc.code || !strings.Contains(out+log, tc.says) {
				t.Errorf("exit code %d, want %d, and %q in\n%s%s", code, tc.code, tc.says, out, log)
			}
		})
	}
}

// TestOldResult: the result of a run that existed already says how old it is.
func TestOldResult(t *testing.T) {
	ended := time.Now().Add(-25 * time.Minute).UTC().Format(time.RFC3339)
	api := &anAPI{deploy: `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1","duplicate_ended_at":"` + ended + `"}`}
	api.start(t)
	out, _, _ := invoke(t, "notify", "--no-detect", "--sha", "cafe")
	if want := "  smoke  already exists: smoke-1 (the result of a run 25m ago; nothing ran now)\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

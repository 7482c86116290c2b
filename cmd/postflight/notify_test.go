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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
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

// TestNotifyRerun: the deployment is real, so the server is told of it, and decides.
func TestNotifyRerun(t *testing.T) {
	for args, want := range map[string]string{
		"notify --no-detect --sha cafe":         "POST /api/webhooks/deploy_success",
		"notify --no-detect --sha cafe --rerun": "POST /api/webhooks/deploy_success?rerun=true",
	} {
		api := &anAPI{deploy: `{"trigger_id":"smoke","created_suite_id":"smoke-2"}`}
		api.start(t)
		out, log, code := invoke(t, strings.Fields(args)...)
		if code != 0 || out != "  smoke  started smoke-2\n" || !cmp.Equal(api.requests, []string{want}) {
			t.Errorf("%s: exit code %d, requests %v, want %s: %s%s", args, code, api.requests, want, out, log)
		}
	}
}

// TestDifferentDeployment: the result of a run of another deployment does not gate this one, unless the caller says so.
func TestDifferentDeployment(t *testing.T) {
	const duplicate = `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1","duplicate_differs":["deployment_url","variables"]}`
	const failed = `,{"trigger_id":"visual","created_suite_id":"smoke-2"}`
	passed := apiRun("smoke-1", func(s *v1alpha1.Suite) {
		s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Passed("")}, new(metav1.Now())
	})
	for name, tc := range map[string]struct {
		deploy, args string
		code         int
		says         []string
	}{
		"not waiting":      {duplicate, "", cli.ExitPassed, []string{"already exists: smoke-1 (it tests a deployment with another URL and other variables)"}},
		"waiting":          {duplicate, "--wait", cli.ExitDifferent, []string{"1 of 1 runs tested another deployment: smoke-1", "To test this one, notify with --rerun", "--accept-different"}},
		"as JSON":          {duplicate, "--wait -o json", cli.ExitDifferent, []string{`"verdict": "different"`, `"duplicate_differs": [`}},
		"accepted":         {duplicate, "--wait --accept-different", cli.ExitPassed, []string{"passed"}},
		"beside a failure": {duplicate + failed, "--wait", cli.ExitFailed, []string{"1 of 2 runs failed: smoke-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			(&anAPI{deploy: tc.deploy, runs: []httpapi.Run{passed, apiRun("smoke-2", exitCode1)}}).start(t)
			out, log, code := invoke(t, append(strings.Fields("notify --no-detect --sha cafe"), strings.Fields(tc.args)...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.says {
				if !strings.Contains(out+log, want) {
					t.Errorf("nothing says %q in\n%s%s", want, out, log)
				}
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

// TestOtherDeployment: a newer server may know more differences.
func TestOtherDeployment(t *testing.T) {
	for want, differs := range map[string][]httpapi.Difference{
		"":            nil,
		"another URL": {httpapi.DifferentURL},
		"another URL, other variables and another moon_phase": {httpapi.DifferentURL, httpapi.DifferentVariables, "moon_phase"},
	} {
		if got := gate.OtherDeployment(httpapi.Result{DuplicateDiffers: differs}); got != want {
			t.Errorf("%v: %q, want %q", differs, got, want)
		}
	}
}

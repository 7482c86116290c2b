package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/poll"
)

var program = clitest.Program{NewNotify, NewWait, NewGate, NewExplain}

// Integrations rely on the names of these variables, which replace flags.
func TestNotifyByVariables(t *testing.T) {
	var sent map[string]any
	clitest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		clitest.Reply(w, http.StatusOK, json.RawMessage(`{"results":[],"explanations":[]}`))
	})
	for name, value := range map[string]string{"POSTFLIGHT_API_KEY": "k", "POSTFLIGHT_BRANCH": "$(touch pwned)",
		"POSTFLIGHT_SHA": "cafe", "POSTFLIGHT_DEPLOYMENT_TYPE": "staging", "POSTFLIGHT_DEPLOYMENT_URL": "https://staging.example.com"} {
		t.Setenv(name, value)
	}
	want := map[string]any{"branch": "$(touch pwned)", "sha": "cafe", "deployment_type": "staging",
		"deployment_url": "https://staging.example.com"}
	for _, args := range [][]string{{"notify", "--no-detect", "--allow-no-match", "--branch="}, {"explain", "--no-detect"}} {
		program.Expect(t, cli.ExitPassed, nil, nil, args...)
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
		api := &clitest.API{Deploy: `{"trigger_id":"smoke","created_suite_id":"smoke-2"}`}
		api.Start(t)
		out, log, code := program.Invoke(t, strings.Fields(args)...)
		if code != 0 || out != "  smoke  started smoke-2\n" || !cmp.Equal(api.Requests, []string{want}) {
			t.Errorf("%s: exit code %d, requests %v, want %s: %s%s", args, code, api.Requests, want, out, log)
		}
	}
}

// TestDifferentDeployment: the result of a run of another deployment does not gate this one, unless the caller says so.
func TestDifferentDeployment(t *testing.T) {
	const duplicate = `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1","duplicate_differs":["deployment_url","variables"]}`
	const failed = `,{"trigger_id":"visual","created_suite_id":"smoke-2"}`
	passed := clitest.Run("smoke-1", func(s *v1alpha1.Suite) {
		s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Passed("")}, new(metav1.Now())
	})
	for name, tc := range map[string]struct {
		deploy, args string
		code         int
		says         []string
	}{
		"not waiting": {duplicate, "", cli.ExitPassed,
			[]string{"already exists: smoke-1 (it tests a deployment with another URL and other variables)"}},
		"waiting": {duplicate, "--wait", cli.ExitDifferent, []string{"1 of 1 runs tested another deployment: smoke-1",
			"To test this one, notify with --rerun", "--accept-different"}},
		"as JSON":          {duplicate, "--wait -o json", cli.ExitDifferent, []string{`"verdict": "different"`, `"duplicate_differs": [`}},
		"accepted":         {duplicate, "--wait --accept-different", cli.ExitPassed, []string{"passed"}},
		"beside a failure": {duplicate + failed, "--wait", cli.ExitFailed, []string{"1 of 2 runs failed: smoke-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			(&clitest.API{Deploy: tc.deploy, Runs: []httpapi.Run{passed, clitest.Run("smoke-2", clitest.Failed)}}).Start(t)
			out, log := program.Expect(t, tc.code, nil, nil, strings.Fields("notify --no-detect --sha cafe "+tc.args)...)
			clitest.Contains(t, "the output", out+log, tc.says...)
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
		"it is deleted": {args: "--deployment-url https://pr-7.example.com", says: "  pr-7  terminated, canceling: smoke-1, smoke-2\n"},
		"as JSON":       {args: "--deployment-url https://pr-7.example.com -o json", says: `"environmentAlias": "pr-7"`},
		"it is not known": {args: "--deployment-url https://pr-7.example.com", notFound: "environment_not_found", code: 3,
			says: "--allow-no-match makes this exit 0"},
		"it is not known, ok": {args: "--deployment-url https://pr-7.example.com --allow-no-match", notFound: "environment_not_found",
			says: "There is no ephemeral Environment"},
		"no URL":                  {code: 3, says: "--terminated needs --deployment-url"},
		"with what starts runs":   {args: "--deployment-url https://pr-7.example.com --wait", code: 3, says: "starts no runs"},
		"with what starts others": {args: "--deployment-url https://pr-7.example.com --rerun", code: 3, says: "starts no runs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			(&clitest.API{NotFound: tc.notFound}).Start(t)
			out, log := program.Expect(t, tc.code, nil, nil, strings.Fields("notify --no-detect --terminated "+tc.args)...)
			clitest.Contains(t, "the output", out+log, tc.says)
		})
	}
}

// TestOldResult: the result of a run that existed already says how old it is.
func TestOldResult(t *testing.T) {
	ended := time.Now().Add(-25 * time.Minute).UTC().Format(time.RFC3339)
	api := &clitest.API{Deploy: `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1","duplicate_ended_at":"` + ended + `"}`}
	api.Start(t)
	out, _, _ := program.Invoke(t, "notify", "--no-detect", "--sha", "cafe")
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
		if got := otherDeployment(httpapi.Result{DuplicateDiffers: differs}); got != want {
			t.Errorf("%v: %q, want %q", differs, got, want)
		}
	}
}

func TestNotifyCodes(t *testing.T) {
	created := `{"trigger_id":"smoke","created_suite_id":"a"}`
	duplicate := `{"trigger_id":"smoke","duplicate_suite_id":"a"}`
	failure := `{"trigger_id":"visual","failure_reason":"The quota is used up."}`
	cases := map[string]struct {
		results string
		status  int
		wait    answering
		allow   bool
		code    int
		says    string
	}{
		"started":                         {results: created, says: "started a"},
		"duplicate":                       {results: duplicate, says: "already exists: a"},
		"one could not start":             {results: created + "," + failure, code: 3, says: "The quota is used up."},
		"no match":                        {code: 3, says: "no Trigger matches this deployment; --allow-no-match"},
		"no match, which is ok":           {allow: true},
		"passed":                          {results: created, wait: completed(true), says: "passed"},
		"duplicate passed":                {results: duplicate, wait: completed(true), says: "passed"},
		"failed":                          {results: created, wait: completed(false), code: 1},
		"passed, and one could not start": {results: created + "," + failure, wait: completed(true), code: 3},
		"failed, and one could not start": {results: created + "," + failure, wait: completed(false), code: 1},
		"refused":                         {status: 401, code: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var sent map[string]any
			conn := clitest.Connect(t, func(w http.ResponseWriter, r *http.Request) {
				_ = json.NewDecoder(r.Body).Decode(&sent)
				if tc.status != 0 {
					w.WriteHeader(tc.status)
					return
				}
				clitest.Reply(w, http.StatusOK, json.RawMessage(`{"results":[`+tc.results+`]}`))
			})
			c, out, log := clitest.Console()
			detected := ci.Context{Branch: "other", SHA: "abc", Repository: "acme/shop"}
			n := &NotifyOptions{Server: clitest.Server(c, conn), AllowNoMatch: tc.allow, Wait: tc.wait != nil,
				WaitOptions: WaitOptions{Runs: tc.wait, Timeout: poll.Limit},
				Deployment:  Deployment{Branch: "main", Variables: []string{"A=b=c"}, Detected: detected}}
			err := n.Run(t.Context())
			if got := clitest.ExitCode(err); got != tc.code {
				t.Errorf("exit code %d (%v), want %d", got, err, tc.code)
			}
			if all := fmt.Sprint(out, log, err); !strings.Contains(all, tc.says) {
				t.Errorf("%q is not said in\n%s", tc.says, all)
			}
			if sent["branch"] != "main" || sent["sha"] != "abc" || sent["repository"] != "acme/shop" ||
				sent["variables"].(map[string]any)["A"] != "b=c" {
				t.Errorf("sent %v: flags win over what was detected, which fills the rest", sent)
			}
		})
	}
}

// TestNoMatchIsExplained: the log of the pipeline has what "postflight explain" would print, first what nearly matches.
func TestNoMatchIsExplained(t *testing.T) {
	conn := clitest.Connect(t, func(w http.ResponseWriter, r *http.Request) {
		result := client.NotificationResult{Results: []client.Result{}}
		if r.URL.Query().Get("dryRun") == "true" {
			result.DryRun, result.Explanations = true, twelveTriggers()
		}
		clitest.Reply(w, http.StatusOK, result)
	})
	for name, tc := range map[string]struct {
		allow, json bool
		says, not   string
	}{
		"a table":       {says: "nearly", not: "t-10"},
		"JSON":          {json: true, says: `"trigger_id": "t-10"`, not: "TRIGGER"},
		"it is allowed": {allow: true, not: "nearly"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, log := clitest.Console()
			c.JSON = tc.json
			n := &NotifyOptions{Server: clitest.Server(c, conn), AllowNoMatch: tc.allow, Deployment: Deployment{Branch: "main"}}
			err := n.Run(t.Context())
			if all := fmt.Sprint(out, log, err); !strings.Contains(all, tc.says) || strings.Contains(all, tc.not) {
				t.Errorf("want %q, and not %q: %s", tc.says, tc.not, all)
			}
			if table := out.String(); !tc.json && !tc.allow && (!strings.Contains(strings.Split(table, "\n")[1], "nearly") ||
				!strings.Contains(log.String(), "2 other Triggers match even less")) {
				t.Errorf("%s%s", table, log)
			}
		})
	}
}

// TestExplainOfClusters: what a cluster did not explain is said, and no Trigger is not the same as no explanation.
func TestExplainOfClusters(t *testing.T) {
	const silent = `{"trigger_id":"eu","failure_reason":"The cluster eu does not answer."}`
	for name, tc := range map[string]struct {
		reply    string
		out, log []string
	}{
		"no cluster answers": {`{"results":[` + silent + `],"explanations":[]}`, []string{"eu        -         -           -       The cluster eu does not answer.\n"}, nil},
		"another one does": {`{"results":[` + silent + `,{"trigger_id":"smoke","created_suite_id":"(dry run)"}],` +
			`"explanations":[{"trigger_id":"smoke","matched":true,"conditions":[]}]}`,
			[]string{"smoke     yes", "         A run would start.\n", "eu        -         -           -       The cluster eu does not answer.\n"}, nil},
		"there is nothing": {`{"results":[],"explanations":[]}`, nil, []string{"No Trigger was explained. If your team has none"}},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				clitest.Reply(w, http.StatusOK, json.RawMessage(tc.reply))
			})
			t.Setenv("POSTFLIGHT_API_KEY", "k")
			program.Expect(t, cli.ExitPassed, tc.out, tc.log, "explain", "--no-detect", "--branch", "main")
		})
	}
}

// twelveTriggers do not match. Eleven fail both of their conditions, and the last, named nearly, fails one.
func twelveTriggers() (all []httpapi.Explanation) {
	for i := range 11 {
		all = append(all, httpapi.Explanation{TriggerID: fmt.Sprintf("t-%d", i),
			Conditions: []httpapi.Condition{{Name: "branches"}, {Name: "deploymentTypes"}}})
	}
	return append(all, httpapi.Explanation{TriggerID: "nearly", Conditions: []httpapi.Condition{{Name: "branches", Held: true},
		{Name: "deploymentTypes"}}})
}

// With -o json, standard output is JSON and nothing else.
func TestNotifyJSON(t *testing.T) {
	conn := clitest.Connect(t, func(w http.ResponseWriter, _ *http.Request) {
		clitest.Reply(w, http.StatusOK, json.RawMessage(`{"results":[{"trigger_id":"smoke","created_suite_id":"a"}]}`))
	})
	c, out, _ := clitest.Console()
	c.JSON = true
	n := &NotifyOptions{Server: clitest.Server(c, conn), Wait: true, WaitOptions: WaitOptions{Runs: completed(false), Timeout: poll.Limit}}
	if got := clitest.ExitCode(n.Run(t.Context())); got != cli.ExitFailed {
		t.Errorf("exit code %d", got)
	}
	var answer struct {
		Results []client.Result
		Runs    []RunStatus
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Results) != 1 || answer.Runs[0].Verdict != failed {
		t.Errorf("%v: %s", err, out)
	}
}

// After an interrupted notification, the error says that runs may exist.
func TestNotifyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	conn := clitest.Connect(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, the server does not notice that the client is gone
		cancel()
		<-r.Context().Done()
	})
	c, _, _ := clitest.Console()
	err := (&NotifyOptions{Server: clitest.Server(c, conn)}).Run(ctx)
	if text := fmt.Sprint(err); clitest.ExitCode(err) != cli.ExitTrouble || !strings.HasPrefix(text, "interrupted. ") ||
		!strings.Contains(text, "postflight runs list") {
		t.Errorf("%v", err)
	}
}

// TestNotifyPrintsNoWaitToken: CI systems keep what a command prints.
func TestNotifyPrintsNoWaitToken(t *testing.T) {
	token, wait := clitest.IDToken(time.Now().Add(time.Hour)), "pfw_S3CRET"
	got := clitest.Credentials(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
			clitest.Reply(w, 200, httpapi.NotificationResult{Results: []httpapi.Result{{TriggerID: "smoke", CreatedSuiteID: "smoke-1"}},
				WaitToken: wait, WaitTokenExpiresAt: &until})
			return
		}
		run := clitest.Run("smoke-1", clitest.Failed)
		if strings.Contains(r.URL.Path, "greenlight") {
			clitest.Reply(w, 200, clitest.GreenlightOf(run))
			return
		}
		clitest.Reply(w, 200, run)
	})
	t.Setenv("POSTFLIGHT_ID_TOKEN", token)
	out, log, code := program.Invoke(t, "notify", "--no-detect", "--sha", "cafe", "--wait", "-o", "json")
	if code != 1 || strings.Contains(out+log, wait) || strings.Contains(out+log, token) {
		t.Errorf("exit code %d, and no token may be in\n%s%s", code, out, log)
	}
	if !slices.Contains(*got, "Bearer "+wait+" ") || (*got)[0] != "Bearer "+token+" " {
		t.Errorf("sent %q", *got)
	}
}

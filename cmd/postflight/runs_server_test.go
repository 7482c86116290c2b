package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
)

// withResults is a run of 120 tests, with a failure that is hostile to terminals.
func withResults(s *v1alpha1.Suite) {
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("3 of 120 tests failed.")}
	s.Status.StartTime, s.Status.CompletionTime = &metav1.Time{Time: noon.Add(-time.Minute)}, &metav1.Time{Time: noon}
	s.Status.Results = &v1alpha1.TestResults{Tests: 120, Passed: 113, Failed: 3, Skipped: 4, ComparedWith: "smoke-0", NewFailures: 1, KnownFailures: 2, Fixed: 2,
		Failures: []v1alpha1.TestFailure{
			{Name: "checkout › pays\x1b]0;owned\x07\r\n::error::x", File: "tests/checkout.spec.ts", Line: 12, Message: "expected\x1b[2J 200", History: v1alpha1.FailureNew},
			{Name: "login", History: v1alpha1.FailureKnown}}}
	s.Status.Artifacts = &v1alpha1.Artifacts{Count: 3, Bytes: 4_200_000, Prefix: "acme/x/"}
}

func scheduled(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T03:00:00Z"}
}

// withTexts are results with texts of failures, one of which is hostile to terminals and CI systems.
func withTexts() *httpapi.RunResults {
	return &httpapi.RunResults{Run: "smoke-1", State: "Failed", Problem: "The store is away.", Results: &httpapi.TestResults{
		Tests: 3, Passed: 1, Failed: 2, Flaky: 2, ComparedWith: "smoke-0", KnownFailures: 2, FlakyTests: []string{"cart"},
		Failures: []httpapi.TestFailure{
			{Name: "login", History: "Known", Message: "Error: expect(locator).toBeVisible() failed", TextCut: true,
				Text:        "Error: expect(locator).toBeVisible() failed\n\n  Locator: getByTestId('x')\n\x1b[2J::error::no command",
				Attachments: []httpapi.Artifact{{Path: "files/a.png", Pod: "p", Bytes: 12, URL: "https://s3.example.com/a?X-Amz-Signature=s"}}},
			{Name: "logout", Message: "timeout", TextCut: true},
			{Name: "other", Message: "short"},
		}}}
}

func TestRunsByServer(t *testing.T) {
	running := func(s *v1alpha1.Suite) {}
	cases := map[string]struct {
		api   *anAPI // nil: one without faults
		args  string
		code  int
		out   []string // each is in standard output
		log   []string // each is in standard error
		sent  []string // requests
		empty bool     // standard output
	}{
		"list": {args: "runs list --branch main --state failed --sha 5ca1ab1 --trigger smoke --environment staging --limit 20", out: []string{"smoke-1", "Failed", "3/120", "main", "5ca1ab1e0ddb"},
			sent: []string{"GET /api/v0/runs?branch=main&environment=staging&limit=21&sha=5ca1ab1&state=Failed&trigger=smoke"}},
		"list of the newest": {args: "runs ls --limit 1", out: []string{"smoke-1"}, log: []string{"Showing the newest 1; --limit 0 shows all."}},
		"list of all":        {args: "runs list --limit 0", out: []string{"smoke-1", "smoke-2"}, sent: []string{"GET /api/v0/runs?limit=100"}},
		"list of none":       {api: &anAPI{runs: []httpapi.Run{}}, args: "runs list", log: []string{"There are no such runs of your team."}, empty: true},
		"list without the archive": {api: &anAPI{problem: "The store does not answer."}, args: "runs list", out: []string{"smoke-2"},
			log: []string{"Warning: archived runs are missing. The store does not answer."}},
		"show":                 {args: "runs show smoke-1", out: []string{"3 of 120 tests failed, 1 new, 2 fixed, 4 skipped", "Files:         3, 4.2 MB", "https://postflight.example.com/runs/acme/smoke-1"}},
		"show a scheduled one": {api: &anAPI{runs: []httpapi.Run{apiRun("nightly-1", scheduled)}}, args: "runs show nightly-1", out: []string{"the schedule of the Trigger, for 2026-11-20T03:00:00Z"}},
		"show another team's":  {args: "runs show nope", code: 1, log: []string{"Error: The team has no such run. [404 run_not_found, eventId E1]"}},
		"logs":                 {args: "runs logs smoke-1 --pod p -c test --tail 5 --previous", out: []string{"hello \x1b[31mred\x1b[2J\n"}, sent: []string{"GET /api/v0/runs/smoke-1/logs?container=test&pod=p&previous=true&tail=5"}},
		"logs that are gone":   {args: "runs logs smoke-2", code: 1, log: []string{"The log ended with its pod"}},
		"followed logs go on after they broke off": {api: &anAPI{logFaults: 1}, args: "runs logs -f smoke-1", out: []string{"begin\nhello"}, log: []string{"The log broke off."},
			sent: []string{"GET /api/v0/runs/smoke-1", "GET /api/v0/runs/smoke-1/logs?follow=true", "GET /api/v0/runs/smoke-1", "GET /api/v0/runs/smoke-1/logs?follow=true&tail=20"}},
		"logs that are followed and gone":    {args: "runs logs -f gone", code: 1, log: []string{"The log ended with its pod"}},
		"logs that break off are incomplete": {api: &anAPI{logFaults: 1}, args: "runs logs smoke-1", code: 1, out: []string{"begin\n"}, log: []string{"the log broke off"}},
		"cancel":                             {args: "runs cancel smoke-2", log: []string{"The run smoke-2 is being canceled."}, sent: []string{"POST /api/v0/runs/smoke-2/cancel"}},
		"cancel too late":                    {args: "runs cancel smoke-1", code: 1, log: []string{"The run has ended already."}},
		"rerun":                              {args: "runs rerun smoke-1", out: []string{"smoke-2\n"}, log: []string{"Attempt 1"}, sent: []string{"POST /api/v0/runs/smoke-1/rerun"}},
		"rerun of failed tests":              {args: "runs rerun --failed smoke-1", out: []string{"smoke-2\n"}, sent: []string{"POST /api/v0/runs/smoke-1/rerun?failed=true"}},
		"rerun of a run that goes on":        {args: "runs rerun smoke-2", code: 1, log: []string{"The run has not ended."}},
		"rerun after an attempt that ended": {api: &anAPI{runs: []httpapi.Run{apiRun("smoke-1", exitCode1), apiRun("again", exitCode1), apiRun("third", running)},
			attempts: map[string]string{"smoke-1": "again", "again": "third"}}, args: "runs rerun smoke-1", out: []string{"third\n"}},
		"results": {args: "runs results smoke-1", out: []string{"new       checkout › pays; ::error::x   tests/checkout.spec.ts:12   expected 200", "known     login"},
			log: []string{"3 of 120 tests failed, 1 new", "--junit FILE has all"}},
		"results with texts": {api: &anAPI{results: withTexts()}, args: "runs results smoke-1", out: []string{
			"known     login",
			"\nlogin\n  | Error: expect(locator).toBeVisible() failed\n  |\n  |   Locator: getByTestId('x')\n  | ::error::no command\n  (The text was cut here. The report has the rest.)\n  File: files/a.png\n",
			"\nlogout\n  timeout\n  (The text was left out: the run has too many long ones. Its report has it.)\n"},
			log: []string{"2 of 3 tests failed, 0 new, 2 flaky.", "Flaky: cart, and 1 more.", "postflight runs artifacts download smoke-1", "The store is away."}},
		"results with texts, as JSON": {api: &anAPI{results: withTexts()}, args: "runs results smoke-1 -o json", out: []string{
			`"text": "Error: expect(locator).toBeVisible() failed\n\n  Locator: getByTestId('x')\n\u001b[2J::error::no command"`, `"textCut": true`, `"path": "files/a.png"`, `"flakyTests": [`}},
		"no results":           {args: "runs results smoke-2", log: []string{"The run smoke-2 has no results. Its state is Running."}, empty: true},
		"no results as JSON":   {args: "runs results smoke-2 -o json", out: []string{`"state": "Running"`}},
		"files":                {args: "runs artifacts list smoke-1", out: []string{"p     12 B   report/a.png"}},
		"files as JSON":        {args: "runs artifacts list smoke-1 -o json", out: []string{`"url": "http://127.0.0.1`}},
		"files of another pod": {args: "runs artifacts list smoke-1 --pod q", log: []string{"has no files"}, empty: true},
		"both ways":            {args: "runs list --url http://x -n acme", code: 3, log: []string{"use one of them"}},
		"a negative tail":      {args: "runs logs smoke-1 --tail -1", code: 3},
		"a short commit":       {args: "runs list --sha 5ca1ab", code: 3},
		"an invalid pattern":   {args: "runs artifacts download smoke-1 [a", code: 3},
		"files need a run":     {args: "runs artifacts download", code: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			api := tc.api
			if api == nil {
				api = &anAPI{}
			}
			if api.runs == nil {
				api.runs = []httpapi.Run{apiRun("smoke-1", withResults), apiRun("smoke-2", running), apiRun("gone", exitCode1)}
			}
			if api.attempts == nil {
				api.attempts = map[string]string{"smoke-1": "smoke-2"}
			}
			api.logs = map[string]string{"smoke-1": "hello \x1b[31mred\x1b[2J\n"}
			api.files = []aFile{{"p", "report/a.png", "not a picture"[:12]}}
			api.start(t)
			out, log, code := invoke(t, strings.Fields(tc.args)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.out {
				if !strings.Contains(out, want) {
					t.Errorf("standard output has no %q:\n%s", want, out)
				}
			}
			for _, want := range tc.log {
				if !strings.Contains(log, want) {
					t.Errorf("standard error has no %q:\n%s", want, log)
				}
			}
			if tc.empty && out != "" {
				t.Errorf("standard output is %q", out)
			}
			if diff := cmp.Diff(tc.sent, api.requests); tc.sent != nil && diff != "" {
				t.Errorf("requests:\n%s", diff)
			}
		})
	}
}

// TestJSONIsTheSameBothWays compares what commands print through the server and through the kubeconfig.
func TestJSONIsTheSameBothWays(t *testing.T) {
	s := aRun("smoke-1", withResults)
	team := &v1alpha1.Team{}
	team.Name, team.Spec.Namespace = "acme", "acme"
	api := &anAPI{runs: []httpapi.Run{apiRun("smoke-1", withResults)}}
	api.runs[0].URL = "" // a cluster does not know it
	api.start(t)
	for name, run := range map[string]func(runs.Options) error{
		"runs list": func(o runs.Options) error { return (&runs.ListOptions{Options: o}).Run(t.Context()) },
		"runs show": func(o runs.Options) error { return (&runs.ShowOptions{Options: o}).Run(t.Context(), "smoke-1") },
		"runs results": func(o runs.Options) error {
			return (&runs.ResultsOptions{Options: o}).Run(t.Context(), "smoke-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			byServer, _, code := invoke(t, append(strings.Fields(name), map[bool][]string{true: {"-o", "json"}, false: {"smoke-1", "-o", "json"}}[name == "runs list"]...)...)
			c, out, _ := newTestConsole()
			c.JSON = true
			if err := run(onCluster(testCluster(c, true, s.DeepCopy(), team))); err != nil || code != 0 {
				t.Fatalf("%v, exit code %d", err, code)
			}
			var a, b any
			if err := errors.Join(json.Unmarshal([]byte(byServer), &a), json.Unmarshal(out.Bytes(), &b)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("through the server (-) and the kubeconfig (+):\n%s", diff)
			}
		})
	}
}

// TestWays: a flag decides, or else POSTFLIGHT_URL.
func TestWays(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		url    string // of the environment
		args   string
		server bool
	}{
		"the environment names a server":      {url: "http://127.0.0.1:2", server: true},
		"a flag names a server":               {args: "--url http://127.0.0.1:2", server: true},
		"nothing names a server":              {},
		"a namespace in spite of the server":  {url: "http://127.0.0.1:2", args: "-n acme"},
		"a context in spite of the server":    {url: "http://127.0.0.1:2", args: "--context c"},
		"a kubeconfig in spite of the server": {url: "http://127.0.0.1:2", args: "--kubeconfig " + config},
		"all namespaces":                      {url: "http://127.0.0.1:2", args: "-A"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_URL", tc.url)
			t.Setenv("POSTFLIGHT_API_KEY", "qawolf_0123456789abcdef")
			t.Setenv("KUBECONFIG", config) // of an API server at port 1
			for _, noun := range []string{"runs", "environments"} {
				_, log, _ := invoke(t, append(strings.Fields(noun+" list --patience 0s"), strings.Fields(tc.args)...)...)
				if got := strings.Contains(log, "127.0.0.1:2"); got != tc.server {
					t.Errorf("%s asked the server: %t, want %t\n%s", noun, got, tc.server, log)
				}
				if got := strings.Contains(log, "127.0.0.1:1"); got == tc.server {
					t.Errorf("%s asked the cluster: %t\n%s", noun, got, log)
				}
			}
		})
	}
}

// TestServerWithoutAKey: whoever has a kubeconfig learns how to use it.
func TestServerWithoutAKey(t *testing.T) {
	t.Setenv("POSTFLIGHT_URL", "http://127.0.0.1:2")
	t.Setenv("POSTFLIGHT_API_KEY", "")
	t.Setenv("POSTFLIGHT_API_KEY_FILE", "")
	if _, log, code := invoke(t, "runs", "list"); code != 1 || !strings.Contains(log, "there is no credential") || !strings.Contains(log, "add -n NAMESPACE") {
		t.Errorf("exit code %d: %s", code, log)
	}
}

// TestFilesNeedTheServer: the kubeconfig does not lead to the store.
func TestFilesNeedTheServer(t *testing.T) {
	c, _, _ := newTestConsole()
	o := onCluster(testCluster(c, true, aRun("a", withResults)))
	for name, err := range map[string]error{
		"list":     (&runs.RunsArtifactsListOptions{Options: o}).Run(t.Context(), "a"),
		"download": (&runs.DownloadOptions{Options: o}).Run(t.Context(), "a", nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "set POSTFLIGHT_URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRunsLogsWaitForTheServer: the server waits for a log for a minute only, and the command until there is one.
func TestRunsLogsWaitForTheServer(t *testing.T) {
	queued := apiRun("smoke-1", func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Queued("At place 2.")} })
	api := &anAPI{runs: []httpapi.Run{queued}, logs: map[string]string{"smoke-1": "hello\n"}, logMissing: 1}
	api.start(t)
	out, log, code := invoke(t, "runs", "logs", "-f", "smoke-1")
	if out != "hello\n" || log != "Queued: At place 2.\n" || code != 0 {
		t.Errorf("%q, %q, exit code %d", out, log, code)
	}
}

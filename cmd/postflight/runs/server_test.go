package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/clitest"
)

var program = clitest.Program{New}

func scheduled(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T03:00:00Z"}
}

func file(pod, path, content string) clitest.File {
	return clitest.File{Pod: pod, Path: path, Content: content}
}

// withTexts are results with texts of failures. One text is hostile to terminals and CI systems.
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

// aFailure has all parts. Its texts are hostile to terminals and CI systems.
func aFailure() *httpapi.Failure {
	return &httpapi.Failure{
		Run: "smoke-1", State: "Failed", Summary: "1 of 40 tests failed.\n::error::x\x1b[2J", URL: "https://postflight.example.com/runs/acme/smoke-1",
		Next:   []string{"Repeat it: postflight runs rerun smoke-1 -n acme."},
		Tested: httpapi.Tested{Team: "acme", Namespace: "acme", Trigger: "smoke", Environment: "staging", SHA: "9c1d2e3f4a5b"},
		Tests: &httpapi.FailureTests{Tests: 40, Failed: 1, NewFailures: 1, Failures: []httpapi.FailedTest{{
			TestFailure: httpapi.TestFailure{Name: "cart > keeps\n::error::items", File: "cart.spec.ts", Line: 12, Message: "expected\x1b[31m 1", History: "New",
				Text: "Error: expected 1\n::error::no command\x1b[2J"},
			Files: []httpapi.TestFile{{Path: "cart/trace.zip", Pod: "p", Bytes: 12}}, Runs: 24, Flaky: 2,
			Since: &httpapi.FailingSince{First: httpapi.TestRun{ID: "smoke-1", SHA: "9c1d2e3f4a5b", CreatedAt: clitest.Noon, State: "Failed"},
				Before: &httpapi.TestRun{ID: "smoke-0", State: "Passed"}},
		}}},
		Changed: &httpapi.Changed{Run: "smoke-0", EndedAt: clitest.Noon, Parts: []httpapi.ChangedComponent{{Repository: "acme/shop", From: "b776998a1c2d",
			To: "9c1d2e3f4a5b", At: clitest.Noon, CompareURL: "https://github.com/acme/shop/compare/a...b"}}},
		Cluster: []string{"The node is gone."}, Omitted: []string{"The log was cut. All of it: postflight runs logs smoke-1 -n acme."},
		Log: &httpapi.LogExcerpt{Pod: "p", Container: "test", FirstLine: 7, Lines: []string{"::warning::x\x1b]0;title\a", "", "done"}},
	}
}

// atHub has no run itself.
func atHub() *clitest.API {
	place := func(name, cluster string) httpapi.EnvironmentStatus {
		return httpapi.EnvironmentStatus{Name: name, Team: "acme", Namespace: "acme", Cluster: cluster, Deployed: []httpapi.Deployed{}}
	}
	return &clitest.API{Runs: []httpapi.Run{}, Environments: []httpapi.EnvironmentStatus{place("dev", ""), place("prod-eu", "eu")}}
}

func TestRunsByServer(t *testing.T) {
	running := func(s *v1alpha1.Suite) {}
	cases := map[string]struct {
		api   *clitest.API // nil: one without faults
		args  string
		code  int
		out   []string // each is in standard output
		log   []string // each is in standard error
		sent  []string // requests
		empty bool     // standard output
	}{
		"list": {args: "runs list --branch main --state failed --sha 5ca1ab1 --trigger smoke --environment staging --limit 20",
			out:  []string{"smoke-1", "Failed", "3/120", "main", "5ca1ab1e0ddb"},
			sent: []string{"GET /api/v0/runs?branch=main&environment=staging&limit=21&sha=5ca1ab1&state=Failed&trigger=smoke"}},
		"list of the newest": {args: "runs ls --limit 1", out: []string{"smoke-1"}, log: []string{"Showing the newest 1; --limit 0 shows all."}},
		"list of all":        {args: "runs list --limit 0", out: []string{"smoke-1", "smoke-2"}, sent: []string{"GET /api/v0/runs?limit=100"}},
		"list of none": {api: &clitest.API{Runs: []httpapi.Run{}}, args: "runs list",
			log: []string{"There are no such runs of your team."}, empty: true},
		"list of none at a hub": {api: atHub(), args: "runs list --state Failed", empty: true,
			log: []string{"There are no such runs of your team.\nprod-eu is in the cluster eu: \"postflight runs list --environment prod-eu\" " +
				"asks there.\n"}},
		"list of none in a cluster": {api: atHub(), args: "runs list --environment prod-eu", log: []string{"There are no such runs of your team.\n"},
			sent: []string{"GET /api/v0/runs?environment=prod-eu&limit=51"}, empty: true},
		"list without the archive": {api: &clitest.API{Problem: "The store does not answer."}, args: "runs list", out: []string{"smoke-2"},
			log: []string{"Warning: archived runs are missing. The store does not answer."}},
		"show": {args: "runs show smoke-1", out: []string{"3 of 120 tests failed, 1 new, 2 fixed, 4 skipped",
			"Files:         3, 4.2 MB", "https://postflight.example.com/runs/acme/smoke-1"}},
		"show a scheduled one": {api: &clitest.API{Runs: []httpapi.Run{clitest.Run("nightly-1", scheduled)}}, args: "runs show nightly-1",
			out: []string{"the schedule of the Trigger, for 2026-11-20T03:00:00Z"}},
		"show another team's": {args: "runs show nope", code: 1,
			log: []string{"Error: The team has no such run. [404 run_not_found, eventId E1]"}},
		"logs": {args: "runs logs smoke-1 --pod p -c test --tail 5 --previous", out: []string{"hello \x1b[31mred\x1b[2J\n"},
			sent: []string{"GET /api/v0/runs/smoke-1/logs?container=test&pod=p&previous=true&tail=5"}},
		"logs that are gone": {args: "runs logs smoke-2", code: 1, log: []string{"The log ended with its pod"}},
		"followed logs go on after they broke off": {api: &clitest.API{LogFaults: 1}, args: "runs logs -f smoke-1",
			out: []string{"begin\nhello"}, log: []string{"The log broke off."},
			sent: []string{"GET /api/v0/runs/smoke-1", "GET /api/v0/runs/smoke-1/logs?follow=true", "GET /api/v0/runs/smoke-1",
				"GET /api/v0/runs/smoke-1/logs?follow=true&tail=20"}},
		"logs that are followed and gone": {args: "runs logs -f gone", code: 1, log: []string{"The log ended with its pod"}},
		"logs that break off are incomplete": {api: &clitest.API{LogFaults: 1}, args: "runs logs smoke-1", code: 1, out: []string{"begin\n"},
			log: []string{"the log broke off"}},
		"cancel": {args: "runs cancel smoke-2", log: []string{"The run smoke-2 is being canceled."},
			sent: []string{"POST /api/v0/runs/smoke-2/cancel"}},
		"cancel too late": {args: "runs cancel smoke-1", code: 1, log: []string{"The run has ended already."}},
		"rerun": {args: "runs rerun smoke-1", out: []string{"smoke-2\n"}, log: []string{"Attempt 1"},
			sent: []string{"POST /api/v0/runs/smoke-1/rerun"}},
		"rerun of failed tests": {args: "runs rerun --failed smoke-1", out: []string{"smoke-2\n"},
			sent: []string{"POST /api/v0/runs/smoke-1/rerun?failed=true"}},
		"rerun of a run that goes on": {args: "runs rerun smoke-2", code: 1, log: []string{"The run has not ended."}},
		"rerun after an attempt that ended": {api: &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.Failed),
			clitest.Run("again", clitest.Failed), clitest.Run("third", running)},
			Attempts: map[string]string{"smoke-1": "again", "again": "third"}}, args: "runs rerun smoke-1", out: []string{"third\n"}},
		"results": {args: "runs results smoke-1",
			out: []string{"new       checkout › pays; ::error::x   tests/checkout.spec.ts:12   expected 200", "known     login"},
			log: []string{"3 of 120 tests failed, 1 new", "--junit FILE has all"}},
		"results with texts": {api: &clitest.API{Results: withTexts()}, args: "runs results smoke-1", out: []string{
			"known     login",
			"\nlogin\n  | Error: expect(locator).toBeVisible() failed\n  |\n  |   Locator: getByTestId('x')\n" +
				"  | ::error::no command\n  (The text was cut here. The report has the rest.)\n  File: files/a.png\n",
			"\nlogout\n  timeout\n  (The text was left out: the run has too many long ones. Its report has it.)\n"},
			log: []string{"2 of 3 tests failed, 0 new, 2 flaky.", "Flaky: cart, and 1 more.", "postflight runs artifacts download smoke-1",
				"The store is away."}},
		"results with texts, as JSON": {api: &clitest.API{Results: withTexts()}, args: "runs results smoke-1 -o json", out: []string{
			`"text": "Error: expect(locator).toBeVisible() failed\n\n  Locator: getByTestId('x')\n\u001b[2J::error::no command"`, `"textCut": true`,
			`"path": "files/a.png"`, `"flakyTests": [`}},
		"why": {api: &clitest.API{Failure: aFailure()}, args: "runs why smoke-1", out: []string{
			"State:    Failed\nWhy:      1 of 40 tests failed.; ::error::x\n",
			"\nWhat to do:\n  - Repeat it: postflight runs rerun smoke-1 -n acme.\n",
			"\n1 of 40 tests failed:\n  - new: cart > keeps; ::error::items\n    - cart.spec.ts:12\n    - expected 1\n" +
				"    - It fails since 9c1d2e3f4a5b, 2026-11-20T12:00:00Z; it passed before with smoke-0.\n    - It was flaky in 2 of 24 runs.\n" +
				"  | Error: expected 1\n  | ::error::no command\n    - File: cart/trace.zip\n",
			"\nChanged since the green run smoke-0:\n  - acme/shop: b776998a1c2d to 9c1d2e3f4a5b, 2026-11-20T12:00:00Z https://github.com/acme/shop/compare/a...b\n",
			"\nWhat the cluster did:\n  - The node is gone.\n", "\nLog of test in p, from line 7:\n  | ::warning::x\n  |\n  | done\n",
			"\nLeft out:\n  - The log was cut. All of it: postflight runs logs smoke-1 -n acme.\n"},
			sent: []string{"GET /api/v0/runs/smoke-1/failure"}},
		"why, as Markdown": {api: &clitest.API{Failure: aFailure()}, args: "runs why smoke-1 -o markdown", out: []string{
			"# Failed: `smoke` on `staging`", "```text\n   Error", "## What to do"}, sent: []string{"GET /api/v0/runs/smoke-1/failure"}},
		"why, as JSON": {api: &clitest.API{Failure: aFailure()}, args: "runs why smoke-1 -o json", out: []string{
			`"next": [`, `"firstLine": 7`, `\u001b[2J`}},
		"why another team's": {args: "runs why nope", code: 1, log: []string{"The team has no such run."}},
		"why, as a table":    {args: "runs why smoke-1 -o table", code: 3, log: []string{"json and yaml and markdown"}},
		"show as Markdown":   {args: "runs show smoke-1 -o markdown", code: 3, log: []string{"the formats are json and yaml"}},
		"no results": {args: "runs results smoke-2", log: []string{"The run smoke-2 has no results. Its state is Running."},
			empty: true},
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
				api = &clitest.API{}
			}
			if api.Runs == nil {
				api.Runs = []httpapi.Run{clitest.Run("smoke-1", clitest.WithResults), clitest.Run("smoke-2", running),
					clitest.Run("gone", clitest.Failed)}
			}
			if api.Attempts == nil {
				api.Attempts = map[string]string{"smoke-1": "smoke-2"}
			}
			api.Logs = map[string]string{"smoke-1": "hello \x1b[31mred\x1b[2J\n"}
			api.Files = []clitest.File{file("p", "report/a.png", "not a picture"[:12])}
			api.Start(t)
			out, _ := program.Expect(t, tc.code, tc.out, tc.log, strings.Fields(tc.args)...)
			if tc.empty && out != "" {
				t.Errorf("standard output is %q", out)
			}
			if diff := cmp.Diff(tc.sent, api.Requests); tc.sent != nil && diff != "" {
				t.Errorf("requests:\n%s", diff)
			}
		})
	}
}

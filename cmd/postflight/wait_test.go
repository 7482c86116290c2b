package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
	"github.com/postflight-dev/postflight/test/poll"
)

// answering answers for each run with the next of its answers, and then with the last.
type answering map[string]*[]client.Greenlight

func (r answering) Greenlight(ctx context.Context, id string, _ time.Duration) (*client.Greenlight, error) {
	answers := r[id]
	if answers == nil {
		return nil, errors.New("run not found")
	}
	if len(*answers) == 0 { // it never ends
		<-ctx.Done()
		return nil, ctx.Err()
	}
	next := (*answers)[0]
	*answers = (*answers)[1:]
	return &next, nil
}

// Run fails, like the server of an older version.
func (r answering) Run(context.Context, string) (*client.Run, error) {
	return nil, &client.Error{Status: http.StatusNotFound}
}

func (r answering) Artifacts(context.Context, string, string) iter.Seq2[client.Artifact, error] {
	return func(func(client.Artifact, error) bool) {}
}

func (r answering) Download(context.Context, string, client.Artifact, client.Destination) error {
	return errors.New("there are no files")
}

func is(root, relevant string, stage httpapi.Stage, green bool) client.Greenlight {
	g := client.Greenlight{RootRunID: root, RelevantRunID: relevant, RunStage: stage, Greenlight: green, RelevantRunURL: "https://x/runs/acme/" + relevant}
	if stage == httpapi.Completed && !green {
		g.Bugs = &httpapi.Bugs{ReproducedBugs: []httpapi.Bug{{Name: "Failed: exit code 1."}}}
	}
	return g
}

func newTestConsole() (*cli.Console, *bytes.Buffer, *bytes.Buffer) {
	out, err := &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.Console{Out: out, Err: err}, out, err
}

func testServer(console *cli.Console, c *client.Client) access.Server {
	return access.Server{Output: cli.Output{Console: console}, Client: c}
}

// codeOf is the exit code of an error, -1 without one.
func codeOf(err error) int {
	var exit *cli.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	default:
		return -1
	}
}

func TestWaitCodes(t *testing.T) {
	running, passed := is("a", "a", httpapi.Initializing, false), is("a", "a", httpapi.Completed, true)
	queued := running
	queued.RunState, queued.RunMessage = v1alpha1.ReasonQueued, "Waiting for a slot, at position 3 in the queue."
	starting := running
	starting.RunState, starting.RunMessage = v1alpha1.ReasonStarting, "The pod is starting."
	repeated, changed := passed, is("a", "a", httpapi.Canceled, false)
	repeated.RepeatedByRunID, changed.RunState = "b", v1alpha1.ReasonInconclusive
	stuck := starting
	stuck.RunMessage = `The pod cannot start: the image "a:1" cannot be pulled.`
	cases := map[string]struct {
		reason string
		runs   map[string][]client.Greenlight
		follow bool
		code   int
		says   string
	}{
		"passed":       {runs: map[string][]client.Greenlight{"a": {running, passed}}, code: 0, says: "passed"},
		"failed":       {runs: map[string][]client.Greenlight{"a": {is("a", "a", httpapi.Completed, false)}}, code: 1, says: "Failed: exit code 1."},
		"canceled":     {runs: map[string][]client.Greenlight{"a": {is("a", "a", httpapi.Canceled, false)}}, code: 2, says: "canceled"},
		"repeated":     {reason: "it is the same commit", runs: map[string][]client.Greenlight{"a": {repeated}}, code: 0, says: "no result, repeated by b: passed"},
		"inconclusive": {reason: "nothing is known", runs: map[string][]client.Greenlight{"a": {changed}}, code: 2, says: "1 of 1 runs inconclusive: a"},
		"superseded": {reason: "nothing is known of this deployment, even if the next one passes",
			runs: map[string][]client.Greenlight{"a": {is("a", "b", httpapi.Completed, true)}}, code: 2, says: "--follow"},
		"superseded and followed": {runs: map[string][]client.Greenlight{"a": {is("a", "b", httpapi.Initializing, false), is("a", "b", httpapi.Completed, true)}}, follow: true, code: 0, says: "superseded by b: passed"},
		"followed, with a warning that the result is another commit's": {runs: map[string][]client.Greenlight{"a": {is("a", "b", httpapi.Completed, true)}, "c": {is("c", "c", httpapi.Completed, true)}}, follow: true, code: 0,
			says: "1 of 2 runs, which have no result of their own. With --follow, the result is that of the newer deployment, so do not promote the older one."},
		"queued":               {reason: "as kubectl shows it", runs: map[string][]client.Greenlight{"a": {queued, passed}}, says: "queued  0s  Waiting for a slot, at position 3 in the queue."},
		"its message changes":  {reason: "kubectl knows it, too", runs: map[string][]client.Greenlight{"a": {starting, stuck, passed}}, says: `starting  0s  The pod cannot start: the image "a:1" cannot be pulled.`},
		"it is stuck for good": {reason: "the last message says why", code: 3, runs: map[string][]client.Greenlight{"a": {stuck}}, says: `The run had not ended after 1.5s: The pod cannot start`},
		"unknown":              {runs: map[string][]client.Greenlight{}, code: 3, says: "run not found"},
		"never ends":           {runs: map[string][]client.Greenlight{"a": {running}}, code: 3, says: "--timeout"},
		"one of two failed": {reason: "what failed is known for good", code: 1, says: "1 of 2",
			runs: map[string][]client.Greenlight{"a": {passed}, "b": {is("b", "b", httpapi.Completed, false)}}},
		"failed and unknown":      {code: 1, runs: map[string][]client.Greenlight{"b": {is("b", "b", httpapi.Completed, false)}, "c": nil}},
		"a mistake of the server": {reason: "an unknown stage is waited for", code: 3, runs: map[string][]client.Greenlight{"a": {is("a", "a", "resting", false)}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, ids := answering{}, []string{}
				for id, answers := range tc.runs {
					r[id], ids = &answers, append(ids, id)
				}
				if len(ids) == 0 {
					ids = []string{"a"}
				}
				c, _, log := newTestConsole()
				w := &gate.WaitCommandOptions{Server: testServer(c, nil), WaitOptions: gate.WaitOptions{Runs: r, Follow: tc.follow, Timeout: 1500 * time.Millisecond}}
				err := w.Run(t.Context(), ids)
				if got := codeOf(err); got != tc.code {
					t.Errorf("%s: exit code %d (%v), want %d", tc.reason, got, err, tc.code)
				}
				if all := fmt.Sprint(log, err); !strings.Contains(all, tc.says) {
					t.Errorf("%q is not said in\n%s", tc.says, all)
				}
			})
		})
	}
}

// A log that says for ten seconds that a run waits, although its tests run, misleads its reader.
func TestRefreshInterval(t *testing.T) {
	cases := map[string]struct {
		state  string
		waited time.Duration
		want   time.Duration
	}{
		"the manager has not seen it": {"", 0, time.Second},
		"starting":                    {v1alpha1.ReasonStarting, 4 * time.Second, 2 * time.Second},
		"queued for long":             {v1alpha1.ReasonQueued, time.Hour, 10 * time.Second},
		"running until its end":       {v1alpha1.ReasonRunning, time.Second, client.MaxWait},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := gate.RefreshInterval(tc.state, tc.waited); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestNotifyCodes(t *testing.T) {
	created := `{"trigger_id":"smoke","created_suite_id":"a"}`
	duplicate := `{"trigger_id":"smoke","duplicate_suite_id":"a"}`
	failure := `{"trigger_id":"visual","failure_reason":"The quota is used up."}`
	passed := answering{"a": {is("a", "a", httpapi.Completed, true)}}
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
		"passed":                          {results: created, wait: passed, says: "passed"},
		"duplicate passed":                {results: duplicate, wait: answering{"a": {is("a", "a", httpapi.Completed, true)}}, says: "passed"},
		"failed":                          {results: created, wait: answering{"a": {is("a", "a", httpapi.Completed, false)}}, code: 1},
		"passed, and one could not start": {results: created + "," + failure, wait: answering{"a": {is("a", "a", httpapi.Completed, true)}}, code: 3},
		"failed, and one could not start": {results: created + "," + failure, wait: answering{"a": {is("a", "a", httpapi.Completed, false)}}, code: 1},
		"refused":                         {status: 401, code: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var sent map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = json.NewDecoder(r.Body).Decode(&sent)
				if tc.status != 0 {
					w.WriteHeader(tc.status)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"results":[%s]}`, tc.results)
			}))
			defer server.Close()
			conn, err := client.New(server.URL, "k", client.WithRetryTimeout(0))
			if err != nil {
				t.Fatal(err)
			}
			c, out, log := newTestConsole()
			detected := ci.Context{Branch: "other", SHA: "abc", Repository: "acme/shop"}
			n := &gate.NotifyOptions{Server: testServer(c, conn), AllowNoMatch: tc.allow, Wait: tc.wait != nil, WaitOptions: gate.WaitOptions{Runs: tc.wait, Timeout: poll.Limit},
				Deployment: gate.Deployment{Branch: "main", Variables: []string{"A=b=c"}, Detected: detected}}
			err = n.Run(t.Context())
			if got := codeOf(err); got != tc.code {
				t.Errorf("exit code %d (%v), want %d", got, err, tc.code)
			}
			if all := fmt.Sprint(out, log, err); !strings.Contains(all, tc.says) {
				t.Errorf("%q is not said in\n%s", tc.says, all)
			}
			if sent["branch"] != "main" || sent["sha"] != "abc" || sent["repository"] != "acme/shop" || sent["variables"].(map[string]any)["A"] != "b=c" {
				t.Errorf("sent %v: flags win over what was detected, which fills the rest", sent)
			}
		})
	}
}

// TestNoMatchIsExplained: the log of the pipeline has what "postflight explain" would print, first what nearly matches.
func TestNoMatchIsExplained(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		result := client.NotificationResult{Results: []client.Result{}}
		if r.URL.Query().Get("dryRun") == "true" {
			result.DryRun, result.Explanations = true, twelveTriggers()
		}
		_ = json.NewEncoder(w).Encode(result)
	}))
	defer server.Close()
	conn, err := client.New(server.URL, "k", client.WithRetryTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		allow, json bool
		says, not   string
	}{
		"a table":       {says: "nearly", not: "t-10"},
		"JSON":          {json: true, says: `"trigger_id": "t-10"`, not: "TRIGGER"},
		"it is allowed": {allow: true, not: "nearly"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, log := newTestConsole()
			c.JSON = tc.json
			n := &gate.NotifyOptions{Server: testServer(c, conn), AllowNoMatch: tc.allow, Deployment: gate.Deployment{Branch: "main"}}
			err := n.Run(t.Context())
			if all := fmt.Sprint(out, log, err); !strings.Contains(all, tc.says) || strings.Contains(all, tc.not) {
				t.Errorf("want %q, and not %q: %s", tc.says, tc.not, all)
			}
			if table := out.String(); !tc.json && !tc.allow && (!strings.Contains(strings.Split(table, "\n")[1], "nearly") || !strings.Contains(log.String(), "2 other Triggers match even less")) {
				t.Errorf("%s%s", table, log)
			}
		})
	}
}

// twelveTriggers match by none of two conditions, but for one that matches by one.
func twelveTriggers() (all []httpapi.Explanation) {
	for i := range 11 {
		all = append(all, httpapi.Explanation{TriggerID: fmt.Sprintf("t-%d", i), Conditions: []httpapi.Condition{{Name: "branches"}, {Name: "deploymentTypes"}}})
	}
	return append(all, httpapi.Explanation{TriggerID: "nearly", Conditions: []httpapi.Condition{{Name: "branches", Held: true}, {Name: "deploymentTypes"}}})
}

// With -o json, standard output is JSON and nothing else.
func TestNotifyJSON(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"results":[{"trigger_id":"smoke","created_suite_id":"a"}]}`)
	}))
	defer server.Close()
	conn, err := client.New(server.URL, "k")
	if err != nil {
		t.Fatal(err)
	}
	c, out, _ := newTestConsole()
	c.JSON = true
	n := &gate.NotifyOptions{Server: testServer(c, conn), Wait: true, WaitOptions: gate.WaitOptions{Runs: answering{"a": {is("a", "a", httpapi.Completed, false)}}, Timeout: poll.Limit}}
	if got := codeOf(n.Run(t.Context())); got != cli.ExitFailed {
		t.Errorf("exit code %d", got)
	}
	var answer struct {
		Results []client.Result
		Runs    []gate.RunStatus
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Results) != 1 || answer.Runs[0].Verdict != gate.Failed {
		t.Errorf("%v: %s", err, out)
	}
}

// The reason of a run is untrusted text, and must be cleaned before it reaches a terminal.
func TestHostileText(t *testing.T) {
	c, _, log := newTestConsole()
	g := is("a", "a", httpapi.Completed, false)
	g.Bugs = &httpapi.Bugs{ReproducedBugs: []httpapi.Bug{{Name: "\x1b]0;owned\x07\x1b[2J\r\n::set-output name=x::y"}}}
	_ = (&gate.WaitCommandOptions{Server: testServer(c, nil), WaitOptions: gate.WaitOptions{Runs: answering{"a": {g}}, Timeout: poll.Limit}}).Run(t.Context(), []string{"a"})
	if text := log.String(); strings.ContainsAny(text, "\x1b\x07\r") || strings.Contains(text, "\n::") {
		t.Errorf("%q", text)
	}
}

func TestLiveFramesReplaceEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, log := newTestConsole()
		c.Live = true
		p := gate.StartProgress(c, []gate.RunStatus{{Run: "a", Verdict: gate.Waiting}})
		p.Update(0, func(o *gate.RunStatus) { o.URL = "https://x" })
		time.Sleep(2*cli.FrameInterval + cli.FrameInterval/2)
		p.Update(0, func(o *gate.RunStatus) { o.Verdict, o.Reason = gate.Failed, "why" })
		p.Stop()
		text := log.String()
		if !strings.Contains(text, "\x1b[2A") || !strings.Contains(text, "failed") || !strings.HasSuffix(text, "    https://x\n") {
			t.Errorf("%q", text)
		}
	})
}

// With --follow, a script can see that the result is that of another run.
func TestFollowedInJSON(t *testing.T) {
	for _, follow := range []bool{true, false} {
		c, out, _ := newTestConsole()
		c.JSON = true
		w := &gate.WaitCommandOptions{Server: testServer(c, nil), WaitOptions: gate.WaitOptions{Runs: answering{"a": {is("a", "b", httpapi.Completed, true)}}, Follow: follow, Timeout: poll.Limit}}
		_ = w.Run(t.Context(), []string{"a"})
		if got := strings.Contains(out.String(), `"followed": true`); got != follow {
			t.Errorf("with Follow %t: %s", follow, out)
		}
	}
}

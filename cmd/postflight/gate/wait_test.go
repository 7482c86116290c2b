package gate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
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

func aGreenlight(root, relevant string, stage httpapi.Stage, green bool) client.Greenlight {
	g := client.Greenlight{RootRunID: root, RelevantRunID: relevant, RunStage: stage, Greenlight: green,
		RelevantRunURL: "https://x/runs/acme/" + relevant}
	if stage == httpapi.Completed && !green {
		g.Bugs = &httpapi.Bugs{ReproducedBugs: []httpapi.Bug{{Name: "Failed: exit code 1."}}}
	}
	return g
}

// completed answers that the run a has ended.
func completed(green bool) answering {
	return answering{"a": {aGreenlight("a", "a", httpapi.Completed, green)}}
}

func TestWaitCodes(t *testing.T) {
	running, passed := aGreenlight("a", "a", httpapi.Initializing, false), aGreenlight("a", "a", httpapi.Completed, true)
	queued := running
	queued.RunState, queued.RunMessage = v1alpha1.ReasonQueued, "Waiting for a slot, at position 3 in the queue."
	starting := running
	starting.RunState, starting.RunMessage = v1alpha1.ReasonStarting, "The pod is starting."
	retried, changed := passed, aGreenlight("a", "a", httpapi.Canceled, false)
	retried.RepeatedByRunID, changed.RunState = "b", v1alpha1.ReasonInconclusive
	stuck := starting
	stuck.RunMessage = `The pod cannot start: the image "a:1" cannot be pulled.`
	cases := map[string]struct {
		reason string
		runs   map[string][]client.Greenlight
		follow bool
		code   int
		says   string
	}{
		"passed": {runs: map[string][]client.Greenlight{"a": {running, passed}}, code: 0, says: "passed"},
		"failed": {runs: map[string][]client.Greenlight{"a": {aGreenlight("a", "a", httpapi.Completed, false)}}, code: 1,
			says: "Failed: exit code 1."},
		"canceled": {runs: map[string][]client.Greenlight{"a": {aGreenlight("a", "a", httpapi.Canceled, false)}}, code: 2, says: "canceled"},
		"repeated": {reason: "it is the same commit", runs: map[string][]client.Greenlight{"a": {retried}}, code: 0,
			says: "no result, repeated by b: passed"},
		"inconclusive": {reason: "nothing is known", runs: map[string][]client.Greenlight{"a": {changed}}, code: 2,
			says: "1 of 1 runs inconclusive: a"},
		"superseded": {reason: "nothing is known of this deployment, even if the next one passes",
			runs: map[string][]client.Greenlight{"a": {aGreenlight("a", "b", httpapi.Completed, true)}}, code: 2, says: "--follow"},
		"superseded and followed": {runs: map[string][]client.Greenlight{"a": {aGreenlight("a", "b", httpapi.Initializing, false),
			aGreenlight("a", "b", httpapi.Completed, true)}}, follow: true, code: 0, says: "superseded by b: passed"},
		"followed, with a warning that the result is another commit's": {runs: map[string][]client.Greenlight{"a": {aGreenlight("a", "b",
			httpapi.Completed, true)}, "c": {aGreenlight("c", "c", httpapi.Completed, true)}}, follow: true, code: 0,
			says: "1 of 2 runs, which have no result of their own. " +
				"With --follow, the result is that of the newer deployment, so do not promote the older one."},
		"queued": {reason: "as kubectl shows it", runs: map[string][]client.Greenlight{"a": {queued, passed}},
			says: "queued  0s  Waiting for a slot, at position 3 in the queue."},
		"its message changes": {reason: "kubectl knows it, too", runs: map[string][]client.Greenlight{"a": {starting, stuck, passed}},
			says: `starting  0s  The pod cannot start: the image "a:1" cannot be pulled.`},
		"it is stuck for good": {reason: "the last message says why", code: 3, runs: map[string][]client.Greenlight{"a": {stuck}},
			says: `The run had not ended after 1.5s: The pod cannot start`},
		"unknown":    {runs: map[string][]client.Greenlight{}, code: 3, says: "run not found"},
		"never ends": {runs: map[string][]client.Greenlight{"a": {running}}, code: 3, says: "--timeout"},
		"one of two failed": {reason: "what failed is known for good", code: 1, says: "1 of 2",
			runs: map[string][]client.Greenlight{"a": {passed}, "b": {aGreenlight("b", "b", httpapi.Completed, false)}}},
		"failed and unknown": {code: 1, runs: map[string][]client.Greenlight{"b": {aGreenlight("b", "b", httpapi.Completed, false)},
			"c": nil}},
		"a mistake of the server": {reason: "an unknown stage is waited for", code: 3,
			runs: map[string][]client.Greenlight{"a": {aGreenlight("a", "a", "resting", false)}}},
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
				c, _, log := clitest.Console()
				w := &WaitCommandOptions{Server: clitest.Server(c, nil), WaitOptions: WaitOptions{Runs: r, Follow: tc.follow,
					Timeout: 1500 * time.Millisecond}}
				err := w.Run(t.Context(), ids)
				if got := clitest.ExitCode(err); got != tc.code {
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
			if got := refreshInterval(tc.state, tc.waited); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// The reason of a run is untrusted text, and must be cleaned before it reaches a terminal.
func TestHostileText(t *testing.T) {
	c, _, log := clitest.Console()
	g := aGreenlight("a", "a", httpapi.Completed, false)
	g.Bugs = &httpapi.Bugs{ReproducedBugs: []httpapi.Bug{{Name: "\x1b]0;owned\x07\x1b[2J\r\n::set-output name=x::y"}}}
	_ = (&WaitCommandOptions{Server: clitest.Server(c, nil), WaitOptions: WaitOptions{Runs: answering{"a": {g}},
		Timeout: poll.Limit}}).Run(t.Context(), []string{"a"})
	if text := log.String(); strings.ContainsAny(text, "\x1b\x07\r") || strings.Contains(text, "\n::") {
		t.Errorf("%q", text)
	}
}

// With --follow, a script can see that the result is that of another run.
func TestFollowedInJSON(t *testing.T) {
	for _, follow := range []bool{true, false} {
		c, out, _ := clitest.Console()
		c.JSON = true
		w := &WaitCommandOptions{Server: clitest.Server(c, nil), WaitOptions: WaitOptions{Runs: answering{"a": {aGreenlight("a", "b",
			httpapi.Completed, true)}}, Follow: follow, Timeout: poll.Limit}}
		_ = w.Run(t.Context(), []string{"a"})
		if got := strings.Contains(out.String(), `"followed": true`); got != follow {
			t.Errorf("with Follow %t: %s", follow, out)
		}
	}
}

// TestWaitShowsResults: a command that waited shows which tests failed, and writes the report, of each run.
func TestWaitShowsResults(t *testing.T) {
	second := clitest.Run("visual-1", clitest.Failed, func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "visual" })
	api := &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.WithResults), second},
		Deploy: `{"trigger_id":"smoke","created_suite_id":"smoke-1"},{"trigger_id":"visual","created_suite_id":"visual-1"}`}
	api.Start(t)
	for name, args := range map[string]string{"notify": "notify --no-detect --branch main --wait", "wait": "wait smoke-1 visual-1"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.xml")
			const want = `smoke-1: 3 of 120 tests failed, 1 new, 2 fixed, 4 skipped
  ✗ new    checkout › pays; ::error::x  (tests/checkout.spec.ts:12)  expected 200
  ✗ known  login
  and 1 more
  https://postflight.example.com/runs/acme/smoke-1
`
			program.Expect(t, cli.ExitFailed, nil, []string{want}, append(strings.Fields(args), "--junit", file)...)
			if diff := cmp.Diff([]string{"smoke: smoke/smoke-1 failed: Failed: 3 of 120 tests failed.",
				"visual: visual/visual-1 failed: Failed: Exit code 1."}, clitest.JUnitCases(t, file)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJUnitMistakes are found before anything starts.
func TestJUnitMistakes(t *testing.T) {
	api := &clitest.API{}
	api.Start(t)
	for _, args := range []string{"wait smoke-1 --junit nowhere/report.xml", "notify --wait --junit nowhere/report.xml",
		"notify --junit report.xml"} {
		if _, log, code := program.Invoke(t, strings.Fields(args)...); code != cli.ExitTrouble || len(api.Requests) > 0 {
			t.Errorf("%s: exit code %d, requests %v\n%s", args, code, api.Requests, log)
		}
	}
}

// A line between lines that are redrawn would tear them apart.
func TestAside(t *testing.T) {
	for _, live := range []bool{true, false} {
		c, _, log := clitest.Console()
		c.Live = live
		c.Aside("before")
		p := startProgress(c, nil)
		c.Aside("meanwhile")
		p.Stop()
		c.Aside("after")
		want := "before\nmeanwhile\nafter\n"
		if live {
			want = "before\nafter\n"
		}
		if got := log.String(); got != want {
			t.Errorf("live %v: %q, want %q", live, got, want)
		}
	}
}

func TestLiveFramesReplaceEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, log := clitest.Console()
		c.Live = true
		p := startProgress(c, []RunStatus{{Run: "a", Verdict: waiting}})
		p.Update(0, func(o *RunStatus) { o.URL = "https://x" })
		time.Sleep(2*cli.FrameInterval + cli.FrameInterval/2)
		p.Update(0, func(o *RunStatus) { o.Verdict, o.Reason = failed, "why" })
		p.Stop()
		text := log.String()
		if !strings.Contains(text, "\x1b[2A") || !strings.Contains(text, "failed") || !strings.HasSuffix(text, "    https://x\n") {
			t.Errorf("%q", text)
		}
	})
}

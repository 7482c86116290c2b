package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
)

const wholeSHA = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

func aVerdict(state, sentence string, requirements ...httpapi.Required) httpapi.Verdict {
	v := httpapi.Verdict{
		State: state, Passed: state == "passed", Sentence: sentence, Team: "acme", Environment: "staging", SHA: wholeSHA,
		URL: "/environments/acme/staging/commits/" + wholeSHA, CheckedAt: clitest.Noon, Requirements: requirements,
	}
	if state != "passed" {
		v.Advice = "Wait, or use postflight gate --wait."
	}
	return v
}

var (
	loadFailed = httpapi.Required{Trigger: "load", Service: "cart", State: "failed", Message: "2 of 3 tests failed.", Run: "load-1", URL: "/runs/acme/load-1",
		NewFailures: []string{"pays\x1b]0;owned\x07", "returns"}}
	smokePassed = httpapi.Required{Trigger: "smoke", State: "passed", Message: "The tests passed.", Run: "smoke-1", URL: "/runs/acme/smoke-1"}
)

// TestGate: what is printed, and the exit code of each state.
func TestGate(t *testing.T) {
	t.Setenv("POSTFLIGHT_SHA", wholeSHA)
	for state, code := range map[string]int{
		"passed": cli.ExitPassed, "failed": cli.ExitFailed, "withdrawn": cli.ExitFailed, "running": cli.ExitCanceled, "stale": cli.ExitCanceled,
		"none": cli.ExitTrouble,
	} {
		api := &clitest.API{Verdict: aVerdict(state, "All 2 passed.", smokePassed)}
		api.Start(t)
		out, _ := program.Expect(t, code, []string{"All 2 passed.\n"}, nil, "gate", "--no-detect", "--environment", "staging", "--max-age", "1d")
		if strings.Contains(out, "smoke") || strings.Contains(out, "Wait, or") == (state == "passed") {
			t.Errorf("%s:\n%s", state, out)
		}
		want := []string{"GET /api/v0/verdict?environment=staging&maxAge=24h0m0s&sha=" + wholeSHA}
		if diff := cmp.Diff(want, api.Requests); diff != "" {
			t.Error(diff)
		}
		program.Expect(t, code, []string{`"state": "` + state + `"`}, nil, "gate", "--no-detect", "--environment", "staging", "-o", "json")
	}
}

func TestGatePrints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary.md")
	api := &clitest.API{Verdict: aVerdict("failed", "1 of 2 failed: load cart.", loadFailed, smokePassed)}
	api.Start(t)
	out, _, code := program.Invoke(t, "gate", "--no-detect", "--sha", wholeSHA, "--environment", "staging", "--summary", file)
	url := os.Getenv("POSTFLIGHT_URL")
	want := "1 of 2 failed: load cart.\n" +
		"  failed  load cart  2 of 3 tests failed.  " + url + "/runs/acme/load-1\n" +
		"    new: pays\n    new: returns\n" +
		"Wait, or use postflight gate --wait.\n"
	if code != cli.ExitFailed || cmp.Diff(want, out) != "" {
		t.Errorf("exit code %d:\n%s", code, cmp.Diff(want, out))
	}
	summary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want = "### Postflight\n\n- ❌ `failed`: `1 of 2 failed: load cart.` · [Verdict](<" + url + "/environments/acme/staging/commits/" + wholeSHA + ">)\n" +
		"  - `load cart` `failed`: `2 of 3 tests failed.` · [Run](<" + url + "/runs/acme/load-1>)\n" +
		"    - **new** `pays`\n    - **new** `returns`\n\n"
	if diff := cmp.Diff(want, string(summary)); diff != "" {
		t.Error(diff)
	}
}

// TestGateTrouble: a mistake is no failed run.
func TestGateTrouble(t *testing.T) {
	api := &clitest.API{Verdict: aVerdict("stale", "It is old.")}
	api.Start(t)
	for says, args := range map[string][]string{
		"no commit is named":        {"--environment", "staging"},
		"no Environment is named":   {"--sha", wholeSHA},
		"unknown flag":              {"--sha", wholeSHA, "--place", "staging"},
		"Nothing is started":        {"--sha", wholeSHA, "--environment", "staging", "--run"},
		`unknown command "now"`:     {"now"},
		"invalid argument \"soon\"": {"--sha", wholeSHA, "--environment", "staging", "--max-age", "soon"},
	} {
		program.Expect(t, cli.ExitTrouble, nil, []string{says}, append([]string{"gate", "--no-detect"}, args...)...)
	}
}

func TestGateDetects(t *testing.T) {
	api := &clitest.API{Verdict: aVerdict("passed", "All passed.")}
	api.Start(t)
	for name, value := range map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": wholeSHA, "GITHUB_REPOSITORY": "acme/shop", "GITHUB_EVENT_PATH": "",
		"POSTFLIGHT_SERVICE": "cart"} {
		t.Setenv(name, value)
	}
	program.Expect(t, cli.ExitPassed, nil, nil, "gate", "--environment", "staging")
	want := []string{"GET /api/v0/verdict?environment=staging&repository=acme%2Fshop&service=cart&sha=" + wholeSHA}
	if diff := cmp.Diff(want, api.Requests); diff != "" {
		t.Error(diff)
	}
}

func TestGateRun(t *testing.T) {
	started := aVerdict("running", "1 of 2 has not ended.", smokePassed)
	api := &clitest.API{Verdict: aVerdict("stale", "It is old."), Started: &httpapi.StartedVerdict{Verdict: started,
		Started:  []httpapi.StartedRun{{Trigger: "smoke", Run: "smoke-2", URL: "/runs/acme/smoke-2"}},
		Problems: []httpapi.StartProblem{{Trigger: "load", Service: "cart", Reason: "There is no such Trigger."}}}}
	api.Start(t)
	args := []string{"gate", "--no-detect", "--sha", wholeSHA, "--environment", "staging", "--run"}
	program.Expect(t, cli.ExitCanceled, []string{"1 of 2 has not ended."},
		[]string{"smoke  started smoke-2", "load cart  could not start: There is no such Trigger."}, args...)
	program.Expect(t, cli.ExitCanceled, []string{`"run": "smoke-2"`, `"reason": "There is no such Trigger."`}, nil, append(args, "-o", "json")...)
	api.Verdict, api.Requests = aVerdict("failed", "It failed."), nil
	program.Expect(t, cli.ExitFailed, []string{"It failed."}, nil, args...)
	if len(api.Requests) != 1 {
		t.Errorf("what failed is repeated: %v", api.Requests)
	}
}

// answers are verdicts, each after a while; the last one stays.
type answers struct {
	all     []timed
	refuses bool
	posts   int
	began   time.Time
}

type timed struct {
	after time.Duration // since the beginning
	state string
}

func (a *answers) at(now time.Duration) (state string) {
	for _, v := range a.all {
		if now >= v.after {
			state = v.state
		}
	}
	return state
}

func (a *answers) Verdict(ctx context.Context, _ client.VerdictQuery, wait time.Duration) (*client.Verdict, error) {
	if a.began.IsZero() {
		a.began = time.Now()
	}
	before := a.at(time.Since(a.began))
	for end := time.Now().Add(wait); time.Now().Before(end) && a.at(time.Since(a.began)) == before && ctx.Err() == nil; {
		time.Sleep(100 * time.Millisecond)
	}
	state := a.at(time.Since(a.began))
	if state == "error" {
		return nil, errors.New("the server is gone")
	}
	return new(aVerdict(state, "It is "+state+".")), ctx.Err()
}

func (a *answers) RunVerdict(context.Context, client.VerdictQuery) (*client.StartedVerdict, error) {
	a.posts++
	if a.refuses {
		return nil, &client.Error{Status: 409, Problem: &client.Problem{FailureCode: "refused", FailureMessage: "No run is known."}}
	}
	a.all = append(a.all, timed{time.Since(a.began), "running"}, timed{time.Since(a.began) + 10*time.Minute, "passed"})
	return &client.StartedVerdict{Verdict: aVerdict("running", "It is running.")}, nil
}

func TestGateWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		answers answers
		run     bool
		code    int
		took    time.Duration
		says    string
	}{
		"passed":                  {"there is nothing to wait for", answers{all: []timed{{0, "passed"}}}, false, 0, 0, "passed"},
		"failed":                  {"it is final", answers{all: []timed{{0, "failed"}}}, false, 1, 0, "not green: failed"},
		"stale":                   {"no run changes that", answers{all: []timed{{0, "stale"}}}, false, 2, 0, "not green: stale"},
		"running, passed":         {"it ends", answers{all: []timed{{0, "running"}, {20 * time.Minute, "passed"}}}, false, 0, 20 * time.Minute, "It is running."},
		"running, failed":         {"it ends", answers{all: []timed{{0, "running"}, {5 * time.Second, "failed"}}}, false, 1, 5 * time.Second, "not green: failed"},
		"notified late":           {"a notification may come after the question", answers{all: []timed{{0, "none"}, {50 * time.Second, "running"}, {3 * time.Minute, "passed"}}}, false, 0, 3 * time.Minute, "It is none."},
		"never notified":          {"it waits for a start, and no longer", answers{all: []timed{{0, "none"}}}, false, 3, time.Minute, "not green: none"},
		"ends without a result":   {"the time for a start begins anew", answers{all: []timed{{0, "running"}, {10 * time.Minute, "none"}}}, false, 3, 11 * time.Minute, "not green: none"},
		"never ends":              {"there is a limit", answers{all: []timed{{0, "running"}}}, false, 2, time.Hour, "not green: running"},
		"the server is gone":      {"it is trouble", answers{all: []timed{{0, "running"}, {time.Minute, "error"}}}, false, 3, time.Minute, "the server is gone"},
		"stale, and runs again":   {"it is asked to", answers{all: []timed{{0, "stale"}}}, true, 0, 10 * time.Minute, "It is running."},
		"unknown, to start":       {"it may be notified", answers{all: []timed{{0, "none"}, {30 * time.Second, "passed"}}, refuses: true}, true, 0, 30 * time.Second, "No run is known."},
		"stale, and is refused":   {"something else is there", answers{all: []timed{{0, "stale"}}, refuses: true}, true, 3, 0, "No run is known."},
		"failed, with --run":      {"it is not repeated", answers{all: []timed{{0, "failed"}}, refuses: true}, true, 1, 0, "not green: failed"},
		"a state of a later year": {"it is not green", answers{all: []timed{{0, "blessed"}}}, false, 3, 0, "not green: blessed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, out, log := clitest.Console()
				o := &gateOptions{Server: clitest.Server(c, nil), verdicts: &tc.answers, wait: true, run: tc.run, timeout: time.Hour, startTimeout: time.Minute,
					query: client.VerdictQuery{SHA: wholeSHA, Environment: "staging"}, noDetect: true}
				began := time.Now()
				err := cli.ExitTroubleError(o.Run(t.Context(), func(string) string { return "" }))
				took := time.Since(began)
				if got := clitest.ExitCode(err); got != tc.code || (took-tc.took).Abs() > 2*time.Second {
					t.Errorf("%s: exit code %d after %s (%v), want %d after %s", tc.reason, got, took, err, tc.code, tc.took)
				}
				if all := fmt.Sprint(out, log, err); !strings.Contains(all, tc.says) {
					t.Errorf("%q is not said in\n%s", tc.says, all)
				}
			})
		})
	}
}

// TestGateInterrupted: a person who stops waiting gets no verdict.
func TestGateInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, out, _ := clitest.Console()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		o := &gateOptions{Server: clitest.Server(c, nil), verdicts: &answers{all: []timed{{0, "running"}}}, wait: true, timeout: time.Hour,
			query: client.VerdictQuery{SHA: wholeSHA, Environment: "staging"}, noDetect: true}
		err := o.Run(ctx, func(string) string { return "" })
		if fmt.Sprint(err) != "interrupted" || out.Len() > 0 {
			t.Errorf("%v, printed %s", err, out)
		}
	})
}

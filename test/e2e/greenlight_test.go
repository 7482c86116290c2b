package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

const greenlightPath = "/api/v0/ci-greenlight/"

// pipeline is a run that the shell script and the published client both wait for.
type pipeline struct {
	suite  string
	script chan string         // what the shell script printed, its last line being the exit code
	client chan map[string]any // what the published client returned
}

// startPipeline starts a run with a shell script that waits for it. The published client waits for it, too.
func (tm *team) startPipeline(t *testing.T, m *manager, branch string, abort bool, flags ...string) pipeline {
	t.Helper()
	p := pipeline{script: make(chan string, 1), client: make(chan map[string]any, 1)}
	script := exec.Command("sh", "-c", `"$0" notify "$@" --wait; echo "exit=$?"`, postflightBinary(t),
		"--branch", branch, "--sha", sha())
	script.Args = append(script.Args, flags...)
	script.Env = append(os.Environ(), "CI=true", "GITHUB_ACTIONS=", "POSTFLIGHT_URL="+m.url, "POSTFLIGHT_API_KEY="+tm.key)
	go func() {
		out, err := script.CombinedOutput()
		if err != nil {
			out = fmt.Appendf(out, "%v", err)
		}
		p.script <- string(out)
	}()
	p.suite = tm.awaitRunOf(func(d v1alpha1.Deployment) bool { return d.Branch == branch })
	go func() {
		p.client <- tm.poll(t, map[string]any{"apiKey": tm.key, "serviceBase": m.url,
			"poll": map[string]any{"runId": p.suite, "abortOnSuperseded": abort}})
	}()
	return p
}

// poll waits with the published client.
func (tm *team) poll(t *testing.T, config map[string]any) map[string]any {
	arg, err := json.Marshal(config)
	if err != nil {
		t.Error(err)
		return nil
	}
	node := exec.Command("node", "poll.mjs", string(arg))
	node.Dir = filepath.Join(root(), ".test", "npm")
	out, err := node.CombinedOutput()
	status := map[string]any{}
	if err != nil || json.Unmarshal(out, &status) != nil {
		t.Errorf("the published client failed: %v\n%s", err, out)
	}
	return status
}

func postflightBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(root(), "bin", "postflight")
	if _, err := os.Stat(path); err != nil {
		if out, err := exec.Command("make", "-C", root(), "manager").CombinedOutput(); err != nil {
			t.Fatalf("make manager: %v\n%s", err, out)
		}
	}
	return path
}

// TestPipelines waits for runs that end in each way, with the published client and with a shell script.
func TestPipelines(t *testing.T) {
	tier.All(t, "it takes a pod and two clients for each way to end")
	t.Parallel()
	c := useCluster(t)
	npmClient(t)
	tm := newTeam(t, c)
	tm.trigger("slow", runs(`sleep "${SLEEP:-0}"; exit "${CODE:-0}"`))
	m := tm.sharedManager()
	newer := func(p pipeline, branch, code string) {
		tm.awaitPod(p.suite)
		tm.notify(m, notification{"branch": branch, "sha": sha(), "variables": map[string]string{"SLEEP": "2", "CODE": code}})
	}
	tests := map[string]struct {
		abort   bool
		flags   []string
		then    func(p pipeline, branch string)
		exit    string
		outcome string // of the client
		abortBy string
	}{
		"passed": {exit: "exit=0", outcome: "success"},
		"failed": {flags: []string{"-v", "CODE=1"}, exit: "exit=1", outcome: "failed"},
		"canceled": {flags: []string{"-v", "SLEEP=120"}, then: func(p pipeline, _ string) {
			tm.awaitPod(p.suite)
			tm.cancel(p.suite)
		}, exit: "exit=2", outcome: "aborted", abortBy: "run-canceled"},
		"superseded, aborting": {abort: true, flags: []string{"-v", "SLEEP=120"}, then: func(p pipeline, branch string) {
			newer(p, branch, "0")
		}, exit: "exit=2", outcome: "aborted", abortBy: "superseded-run"},
		"superseded by one that passes": {flags: []string{"-v", "SLEEP=120", "--follow"}, then: func(p pipeline, branch string) {
			newer(p, branch, "0")
		}, exit: "exit=0", outcome: "success"},
		"superseded by one that fails": {flags: []string{"-v", "SLEEP=120", "--follow"}, then: func(p pipeline, branch string) {
			newer(p, branch, "1")
		}, exit: "exit=1", outcome: "failed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			branch := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			p := tm.in(t).startPipeline(t, m, branch, tc.abort, tc.flags...)
			if tc.then != nil {
				tc.then(p, branch)
			}
			script, status := <-p.script, <-p.client
			story(t, "%s\n%v", script, status["log"])
			if !strings.HasSuffix(strings.TrimSpace(script), tc.exit) {
				t.Errorf("the script printed\n%s\nwant %s", script, tc.exit)
			}
			abortBy, _ := status["abortReason"].(string)
			if status["outcome"] != tc.outcome || abortBy != tc.abortBy {
				t.Errorf("the client's outcome is %v (%s), want %s (%s)", status["outcome"], abortBy, tc.outcome, tc.abortBy)
			}
		})
	}
}

func (tm *team) cancel(suite string) {
	tm.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: tm.meta(suite)}
	if err := tm.Patch(tm.t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"cancel":true}}`))); err != nil {
		tm.t.Fatal(err)
	}
}

// TestForeignRunIsUnknown requests another team's run, one that never existed, and one with an invalid name: nothing in the
// answers tells them apart.
func TestForeignRunIsUnknown(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm, other := newTeam(t, c), newTeam(t, c)
	other.trigger("smoke", runs("true"))
	ids := foreignRuns(other.run(other.sharedManager(), notification{"branch": "main", "sha": sha()}))
	m := tm.sharedManager()
	bodies := map[string]string{}
	for name, id := range ids {
		bodies[name] = tm.unknownRun(m, id)
	}
	if bodies["foreign"] != bodies["unknown"] || bodies["malformed"] != bodies["unknown"] {
		t.Errorf("the bodies differ: %v", bodies)
	}
}

// TestForeignRunTakesAsLong: the time of the answers does not tell them apart either.
func TestForeignRunTakesAsLong(t *testing.T) {
	tier.Nightly(t, "it measures times")
	c := useCluster(t)
	tm, other := newTeam(t, c), newTeam(t, c)
	other.trigger("smoke", runs("true"))
	m := runManager(t, c, options{})
	foreign := other.run(m, notification{"branch": "main", "sha": sha()})
	other.awaitEnd(foreign)
	took := map[string][]time.Duration{}
	for range 200 {
		for name, id := range foreignRuns(foreign) {
			began := time.Now()
			tm.unknownRun(m, id)
			took[name] = append(took[name], time.Since(began))
		}
	}
	figure(t, "GREENLIGHT_404 foreign_ms=%.2f unknown_ms=%.2f malformed_ms=%.2f",
		milliseconds(took["foreign"]), milliseconds(took["unknown"]), milliseconds(took["malformed"]))
	if ratio := milliseconds(took["foreign"]) / milliseconds(took["unknown"]); ratio < 0.5 || ratio > 2 {
		t.Errorf("another team's run takes %.2f times as long as an unknown one", ratio)
	}
}

func foreignRuns(foreign string) map[string]string {
	return map[string]string{"foreign": foreign, "unknown": "smoke-0000000000000000", "malformed": "Not-A-Run"}
}

// unknownRun requests a run that the team does not have, and returns the answer without what identifies the request.
func (tm *team) unknownRun(m *manager, id string) string {
	tm.t.Helper()
	a, err := send(http.MethodGet, m.url+greenlightPath+id, tm.key, nil)
	if err != nil || a.status != http.StatusNotFound {
		tm.t.Fatalf("%s: %d, %v", id, a.status, err)
	}
	return strings.ReplaceAll(string(a.body), a.EventID, "")
}

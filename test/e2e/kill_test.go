package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// killPoint is a step of a run's life at which the manager is killed with kill -9.
type killPoint struct {
	name    string
	after   bool // the API server has handled the request, and the manager gets no answer
	step    func(r *http.Request, body string) bool
	victim  string // whose step it is: empty for a run that just passes, or one of those below
	running bool   // not at a request, but while the pod runs
}

const (
	superseded = "superseded" // a run that a newer one stops, which then passes
	canceled   = "canceled"   // a run that is canceled
)

// inGate is the point of the gate: a manager that does not see the Job of the one before makes a second one.
const inGate = "after-job-create"

// The steps are the writes of the manager: what it does between two of them leaves no trace, so that
// dying there is dying before the next one, or after the last.
var killPoints = []killPoint{
	{name: "suite-created", after: true, step: isSuiteCreate},
	{name: "before-job-create", step: isJobCreate},
	{name: "after-job-create", after: true, step: isJobCreate},
	{name: "before-running-status", step: isStatus(v1alpha1.ReasonRunning)},
	{name: "after-running-status", after: true, step: isStatus(v1alpha1.ReasonRunning)},
	{name: "while-running", running: true},
	{name: "before-end-status", step: isStatus(v1alpha1.ReasonPassed)},
	{name: "after-end-status", after: true, step: isStatus(v1alpha1.ReasonPassed)},
	{name: "superseding-before-stop", step: isPatch("/jobs/"), victim: superseded},
	{name: "superseding-before-pod-stop", step: isPatch("/pods/"), victim: superseded},
	{name: "superseding-after-pod-stop", after: true, step: isPatch("/pods/"), victim: superseded},
	{name: "superseding-before-status", step: isStatus(v1alpha1.ReasonSuperseded), victim: superseded},
	{name: "superseding-after-status", after: true, step: isStatus(v1alpha1.ReasonSuperseded), victim: superseded},
	{name: "canceling-before-stop", step: isPatch("/jobs/"), victim: canceled},
	{name: "canceling-after-pod-stop", after: true, step: isPatch("/pods/"), victim: canceled},
	{name: "canceling-before-status", step: isStatus(v1alpha1.ReasonCanceled), victim: canceled},
}

func isSuiteCreate(r *http.Request, _ string) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/suites")
}

func isJobCreate(r *http.Request, _ string) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs")
}

func isPatch(resource string) func(*http.Request, string) bool {
	return func(r *http.Request, _ string) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, resource)
	}
}

func isStatus(reason string) func(*http.Request, string) bool {
	return func(r *http.Request, body string) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/suites/") &&
			strings.HasSuffix(r.URL.Path, "/status") && strings.Contains(body, `"reason":"`+reason+`"`)
	}
}

// TestKillAtEachStep kills the manager at each step of a run's life and starts it again. Every run has
// to end as it would have, with one Job and one pod.
//
// A single manager without leader election: what is tested is that nothing but the API server holds
// the state, and a killed leader's lease would only add seconds to each round.
func TestKillAtEachStep(t *testing.T) {
	c := useCluster(t)
	rounds := 1
	if full() {
		rounds = 10
	}
	for _, p := range killPoints {
		if tier.Gate() && p.name != inGate {
			continue
		}
		t.Run(p.name, func(t *testing.T) { killRounds(t, c, p, rounds) })
	}
}

func killRounds(t *testing.T, c *cluster, p killPoint, rounds int) {
	tm := newTeam(t, c)
	tm.trigger("quick", branches("quick"), runs("sleep 0.5"))
	tm.trigger("slow", branches("slow"), runs(`[ "$QUICK" ] || sleep 600`))
	d := newFaultProxy(t, c)
	k := &killer{team: tm, proxy: d, point: p, manager: runManager(t, c, options{kubeconfig: d.kubeconfig})}
	for range rounds {
		k.round()
	}
	ended, twice := k.count()
	slices.Sort(k.healed)
	figure(t, "KILL point=%s runs=%d ended=%d twice=%d median_heal_seconds=%.1f max_heal_seconds=%.1f",
		p.name, rounds, ended, twice, k.healed[len(k.healed)/2].Seconds(), k.healed[len(k.healed)-1].Seconds())
	if ended != rounds || twice != 0 {
		t.Errorf("%d of %d runs ended correctly, %d ran twice", ended, rounds, twice)
	}
}

// killer kills managers, and counts how the runs end.
type killer struct {
	*team
	proxy   *faultProxy
	manager *manager
	point   killPoint

	rounds []map[string]string // the Suites of each round, and how each has to end
	healed []time.Duration     // from the kill to the end of the run
}

// round kills the manager once at its point, and waits until all runs have ended.
func (k *killer) round() {
	k.t.Helper()
	round := map[string]string{}
	switch k.point.victim {
	case superseded:
		older := k.running()
		round[older] = v1alpha1.ReasonSuperseded
		round[k.killAt(deploy("slow", "", true))] = v1alpha1.ReasonPassed
	case canceled:
		id := k.running()
		round[id] = v1alpha1.ReasonCanceled
		k.killWhile(func() {
			_, _ = k.kubectl("patch", "suite", "-n", k.name, id, "--type=merge", "-p", `{"spec":{"cancel":true}}`)
		})
	default:
		round[k.killAt(deploy("quick", "", true))] = v1alpha1.ReasonPassed
	}
	killed := time.Now()
	k.manager.start()
	for id := range round {
		k.awaitEnd(id)
	}
	k.healed = append(k.healed, time.Since(killed))
	k.manager.awaitReady()
	k.rounds = append(k.rounds, round)
}

// running starts a run, and waits until its pod runs.
func (k *killer) running() string {
	k.t.Helper()
	id := k.run(k.manager, deploy("slow", "", false))
	k.awaitPod(id)
	return id
}

// killAt notifies, kills the manager at the point and returns the Suite. It finds it by its commit,
// because the answer may be lost.
func (k *killer) killAt(n notification) string {
	k.t.Helper()
	commit := n["sha"].(string)
	if k.point.running {
		_, _ = k.tryNotify(k.manager, n)
		k.awaitPod(k.ofCommit(commit))
		k.manager.kill()
	} else {
		k.killWhile(func() { _, _ = k.tryNotify(k.manager, n) })
	}
	return k.ofCommit(commit)
}

// killWhile calls do, and kills the manager when it reaches the point.
func (k *killer) killWhile(do func()) {
	k.t.Helper()
	trap := k.proxy.set(k.point.after, k.point.step)
	var group sync.WaitGroup
	group.Go(do)
	select {
	case <-trap.sprung:
	case <-time.After(poll.Limit):
		k.t.Fatalf("the manager never reached the point %s", k.point.name)
	}
	k.manager.kill()
	k.proxy.clear()
	group.Wait()
}

// ofCommit waits for the Suite of a commit, and returns its name.
func (k *killer) ofCommit(commit string) string {
	k.t.Helper()
	return k.awaitRunOf(func(d v1alpha1.Deployment) bool { return d.SHA == commit })
}

// count returns in how many rounds all runs ended correctly, and how many runs ran twice.
func (k *killer) count() (ended, twice int) {
	k.t.Helper()
	for _, round := range k.rounds {
		good := true
		for id, want := range round {
			s, h := k.suite(id), k.history(id)
			if s.State() != want {
				k.t.Errorf("%s ended %s, want %s: %s", id, s.State(), want, message(s))
				good = false
			}
			if len(h.jobs) > 1 || len(h.pods) > 1 {
				k.t.Errorf("%s had %d Jobs and %d pods", id, len(h.jobs), len(h.pods))
				twice++
			}
		}
		if good {
			ended++
		}
	}
	return ended, twice
}

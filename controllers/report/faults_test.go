package report_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// faultTime is how long a host fails: seconds, or minutes with POSTFLIGHT_E2E_FULL=1.
func faultTime() time.Duration {
	if os.Getenv("POSTFLIGHT_E2E_FULL") == "1" {
		return 3 * time.Minute
	}
	return 3 * time.Second
}

// slack is how much later than a run that nobody reports a reported one may end. The machine may be busy; the requests
// to a host that hangs take longer.
const slack = 8 * time.Second

var codeHostFaults = map[string]codehost.Fault{
	"fails":                        {Status: 500},
	"asks to wait":                 {Status: 403, Header: map[string]string{"Retry-After": "2"}, Body: `{"message":"Forbidden"}`},
	"is too busy":                  {Status: 429, Header: map[string]string{"Retry-After": "1"}},
	"has a secondary limit":        {Status: 403, Header: map[string]string{"Retry-After": "2"}, Body: `{"message":"You have exceeded a secondary rate limit."}`},
	"conflicts":                    {Status: 409, Body: `{"message":"Another update to this commit status is in progress"}`},
	"rejects":                      {Status: 422, Body: `{"message":"Validation Failed"}`},
	"hangs":                        {},
	"resets connections":           {Reset: true},
	"does it and loses its answer": {Status: 502, Handled: true},
	"does it and resets":           {Reset: true, Handled: true},
}

// inGate are those that end in different ways: a pause, a change of the Trigger, and a question what the host shows.
var inGate = []string{"fails", "rejects", "does it and loses its answer"}

// TestFaultsOfCodeHosts: whatever a host does, runs end while it fails, as early as one that nobody reports, and the last state
// arrives once the host has recovered.
func TestFaultsOfCodeHosts(t *testing.T) {
	t.Parallel()
	for name, fault := range codeHostFaults {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(inGate, name) {
				tier.All(t, "other faults have the same consequences")
			}
			t.Parallel()
			w := newReportWorld(t)
			hosts := map[string]*codehost.Host{"smoke": w.gitHub, "token": w.gitHub, "lab": w.gitLab} // by Trigger
			w.Create(build.Trigger("unreported"))
			w.gitHub.Fail(&fault)
			w.gitLab.Fail(&fault)
			failing := time.Now()
			ends := w.timeEnds("unreported", "smoke", "token", "lab")
			w.areAsked(w.gitHub, w.gitLab)
			if !tier.Gate() {
				time.Sleep(time.Until(failing.Add(faultTime())))
				isNotLate(t, ends)
			}
			w.gitHub.Fail(nil)
			w.gitLab.Fail(nil)
			recovered := time.Now()
			writes := 0
			for trigger, host := range hosts {
				w.changes(trigger) // what was rejected is repeated at once
				w.reports(trigger, v1alpha1.ReasonPosted, "")
				states := host.States(shaOf(trigger))
				if len(states) > 3 || len(states) == 0 || slices.Index(states, "success") != len(states)-1 {
					t.Errorf("%s shows %q", trigger, states)
				}
				writes += len(states)
			}
			fmt.Printf("REPORT fault=%s runs=%d posts_per_run=%.2f converge_seconds=%.1f later_seconds=%.1f\n", strings.ReplaceAll(name, " ", "_"),
				len(hosts), float64(writes)/float64(len(hosts)), time.Since(recovered).Seconds(), (ends["smoke"] - ends["unreported"]).Seconds())
			if runs := w.gitHub.CheckRuns(shaOf("smoke")); runs["completed"] != 1 || len(runs) != 1 {
				t.Errorf("check runs: %v", runs)
			}
		})
	}
}

// isNotLate compares how long runs took to end with one that nobody reports.
func isNotLate(t *testing.T, ends map[string]time.Duration) {
	t.Helper()
	for trigger, took := range ends {
		if late := took - ends["unreported"]; late > slack {
			t.Errorf("the run of %s ends %s later than one that nobody reports", trigger, late)
		}
	}
}

// shaOf is the commit of the run that has the name of its Trigger.
func shaOf(trigger string) string {
	return strings.Repeat(hex.EncodeToString([]byte(trigger)), 40)[:40]
}

// timeEnds runs each Trigger once, and returns how long after the end of its Job each run ends.
func (w *reportWorld) timeEnds(triggers ...string) map[string]time.Duration {
	w.T.Helper()
	for i, trigger := range triggers {
		w.Start(build.Suite(trigger, i, build.OfTrigger(trigger), tests(shaOf(trigger))))
	}
	took := map[string]time.Duration{}
	for _, trigger := range triggers {
		began := time.Now()
		w.Passes(trigger)
		w.Reaches(trigger, v1alpha1.ReasonPassed, "")
		took[trigger] = time.Since(began)
	}
	return took
}

func (w *reportWorld) areAsked(hosts ...*codehost.Host) {
	w.T.Helper()
	poll.True(w.T, "the hosts are asked", func() bool {
		return !slices.ContainsFunc(hosts, func(h *codehost.Host) bool { return len(h.Requests()) == 0 })
	})
}

// changes does to a Trigger what a person does who has fixed it.
func (w *reportWorld) changes(trigger string) {
	w.T.Helper()
	w.patchTrigger(trigger, func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites++ })
}

// TestLeastUsefulFirst has a host that accepts 8 writes an hour, and runs that ask for more. What people need least is
// left out, every write is accepted, and the last ones are outcomes.
func TestLeastUsefulFirst(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, func(w *reportWorld) {
		host := w.CodeHosts.Hosts[v1alpha1.GitHub]
		host.Limits = report.Limits{PerMinute: 1 << 20, PerHour: 8, InFlight: 4}
		w.CodeHosts.Hosts[v1alpha1.GitHub] = host
		w.gitHub.PerMinute, w.gitHub.PerHour = 1<<20, 8
	})
	name := func(i int) string { return fmt.Sprint("run-", i) }
	isShown := func(want map[string]int) {
		t.Helper()
		w.Eventually(fmt.Sprintf("the host shows %v", want), func() string {
			got := map[string]int{}
			for _, write := range w.gitHub.Writes() {
				got[write.State]++
			}
			return cmp.Diff(want, got)
		})
	}
	for i := range 5 {
		w.Create(build.Suite(name(i), i, build.OfTrigger("token"), tests(fmt.Sprintf("%040x", i))))
		w.Runs(name(i))
	}
	isShown(map[string]int{"pending": 4}) // half of the budget
	cancel := func(i int) {
		w.Cancel(name(i), "jo")
		w.Stops(name(i))
		w.Reaches(name(i), v1alpha1.ReasonCanceled, "")
	}
	cancel(0)
	isShown(map[string]int{"pending": 4, "error": 1})
	w.Passes(name(1))
	w.Passes(name(2))
	isShown(map[string]int{"pending": 4, "error": 1, "success": 2})
	cancel(3) // beyond three quarters
	w.Passes(name(4))
	isShown(map[string]int{"pending": 4, "error": 1, "success": 3})
	if posts := calls(w.gitHub)["POST /repos/acme/shop/statuses/SHA"]; posts != 8 {
		t.Errorf("%d posts, of which the host accepts 8", posts)
	}
}

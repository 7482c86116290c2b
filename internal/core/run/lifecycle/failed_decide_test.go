package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestTogether: whatever the tests of two and three runs in a row do, the last one is green only if every test passed in one of them, and
// the last result of none is a failure.
func TestTogether(t *testing.T) {
	all := func(letters string, n int) (list []outcomes) {
		list = []outcomes{""}
		for range n {
			var next []outcomes
			for _, o := range list {
				for _, letter := range letters {
					next = append(next, o+outcomes(letter))
				}
			}
			list = next
		}
		return list
	}
	green := 0
	for _, first := range all("pfs", 2) {
		if !strings.Contains(string(first), "f") {
			continue
		}
		root := failedRun("r1", 0, first)
		chain := []rerun.Link{{Suite: root, Documents: []results.Document{first.Document("")}, Digest: "d"}}
		trigger := withMinTests(root.Status.Results.Tests - root.Status.Results.Skipped)
		runs := []*v1alpha1.Suite{skips(passedRun("r0", root.Status.Results.Tests), root.Status.Results.Skipped)}
		request := rerun.FailedRequest{Suite: aSuite("r2", 60, commit("a"), onlyFailedOf(root)), Trigger: trigger, Environment: anEnvironment(), Ledger: aLedger(root), Chain: chain, Digest: "d", Runs: runs}
		plan := rerun.PlanFailed(request).Plan
		for _, second := range all("pfs-", 2) {
			green += checkTogether(t, request.Suite, plan, second, first)
			if !strings.Contains(string(second), "f") {
				continue
			}
			again := failedRun("r2", 60, second, onlyFailedOf(root))
			link := rerun.Link{Suite: again, Documents: []results.Document{second.Document(plan.Names)}, Digest: "d"}
			request := rerun.FailedRequest{Suite: aSuite("r3", 120, commit("a"), onlyFailedOf(again)), Trigger: trigger, Environment: anEnvironment(), Ledger: aLedger(root, again),
				Chain: append([]rerun.Link{link}, chain...), Digest: "d", Runs: runs}
			next := rerun.PlanFailed(request).Plan
			for _, third := range all("pfs-", 2) {
				green += checkTogether(t, request.Suite, next, third, first, second)
			}
		}
	}
	if green == 0 {
		t.Error("no run is green")
	}
}

func checkTogether(t *testing.T, s *v1alpha1.Suite, plan *failedtests.Plan, last outcomes, before ...outcomes) int {
	t.Helper()
	tests := last.Tests(plan.Names)
	c := &results.Collected{Summary: results.Merge([]results.Pod{{Summary: tests.Summary()}})}
	progress, by := v1alpha1.Passed("The run passed."), v1alpha1.DecidedByTests
	if j := c.Judge(results.Requirement{}); j.Problem != "" {
		progress = v1alpha1.Failed(j.Problem)
	}
	job := aJob(s.Name)
	o := lifecycle.Observation{Suite: s, Job: job, State: outcome.State{Condition: progress, DecidedBy: by, Collected: c}, JobInfo: lifecycle.JobInfo{Plan: plan}, Definition: defined(aTrigger(), nil)}
	d := decide(o, t0.Add(time.Hour))
	whole := true
	for i := range last {
		state := byte('-')
		for _, o := range append(before, last) {
			if letter := o[i]; letter == 'f' || letter == 'p' || letter == 's' && state == '-' {
				state = letter
			}
		}
		whole = whole && state != 'f'
	}
	if passed := d.Condition.Reason == v1alpha1.ReasonPassed; passed && !whole {
		t.Fatalf("%v and %s are green: %s", before, last, d.Condition.Message)
	}
	if d.Condition.Reason == v1alpha1.ReasonPassed {
		return 1
	}
	if d.Condition.Reason != v1alpha1.ReasonFailed {
		t.Fatalf("%v and %s: %s", before, last, d.Condition.Reason)
	}
	return 0
}

func TestTogetherNeedsItsPlan(t *testing.T) {
	r := aFailedRequest("ppff")
	plan := rerun.PlanFailed(r).Plan
	tests := outcomes("--pp").Tests(plan.Names)
	c := &results.Collected{Summary: tests.Summary()}
	other := *plan
	other.Of = "r0"
	old := outcomes("--pp").Tests("")
	forgets := &results.Collected{Summary: old.Summary()}
	for name, tc := range map[string]struct {
		change func(*lifecycle.Observation)
		state  string
		says   string
	}{
		"whole":               {func(*lifecycle.Observation) {}, v1alpha1.ReasonPassed, "2 failed tests of r1 passed; the other 2 passed there."},
		"no plan":             {func(o *lifecycle.Observation) { o.Plan = nil }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"that of another run": {func(o *lifecycle.Observation) { o.Plan = &other }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"its exit code alone": {func(o *lifecycle.Observation) { o.DecidedBy = v1alpha1.DecidedByExitCode }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"no reports":          {func(o *lifecycle.Observation) { o.Collected = nil }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"an older collector":  {func(o *lifecycle.Observation) { o.Collected = forgets }, v1alpha1.ReasonFailed, "2 did not run here or did not pass"},
		"something deployed": {func(o *lifecycle.Observation) {
			o.Stream = []*v1alpha1.Suite{aSuite("b1", 90, commit("b"), keyed("other"))}
		},
			v1alpha1.ReasonInconclusive, "The run b1 tests what is there."},
		"workloads that change": {func(o *lifecycle.Observation) {
			o.UnderTest = lifecycle.UnderTest{Start: shop, Tested: &v1alpha1.UnderTest{Workloads: shop, Changed: "It has b."}}
			o.Successor = lifecycle.Successor{Problem: "No."}
		}, v1alpha1.ReasonInconclusive, "It has b."},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      r.Suite,
				Job:        aJob("r2"),
				State:      outcome.State{Condition: v1alpha1.Passed("The run passed."), DecidedBy: v1alpha1.DecidedByTests, Collected: c},
				JobInfo:    lifecycle.JobInfo{Plan: plan},
				Definition: defined(r.Trigger, nil),
				End:        lifecycle.End{PassedBefore: passedRun("r0", 1000)},
			}
			tc.change(&o)
			d := decide(o, t0.Add(time.Hour))
			if d.Condition.Reason != tc.state || !strings.Contains(d.Condition.Message, tc.says) || strings.Contains(d.Condition.Message, "1000") {
				t.Errorf("%s: %s", d.Condition.Reason, d.Condition.Message)
			}
		})
	}
}

// TestFindsFailedFirst: a run starts only with the tests that it repeats, and waits for the store.
func TestFindsFailedFirst(t *testing.T) {
	r := aFailedRequest("ppff")
	start := func(f *rerun.FailedTests, c lifecycle.Creation) lifecycle.Observation {
		return lifecycle.Observation{Suite: r.Suite, Definition: defined(r.Trigger, anEnvironment()), Waiting: lifecycle.Waiting{Failed: f, Creation: c}}
	}
	waiting := start(&rerun.FailedTests{Unavailable: "it is down"}, lifecycle.Creation{})
	s := r.Suite.DeepCopy()
	lifecycle.SetStatus(s, waiting, decide(waiting, t0), t0)
	late := start(&rerun.FailedTests{Unavailable: "it is down"}, lifecycle.Creation{})
	late.Suite = s
	for name, tc := range map[string]struct {
		o      lifecycle.Observation
		after  time.Duration
		action lifecycle.Action
		state  string
		says   string
	}{
		"first":       {start(nil, lifecycle.Creation{}), 0, lifecycle.FindFailed, "", ""},
		"found":       {start(rerun.PlanFailed(r), lifecycle.Creation{}), 0, lifecycle.CreateJob, "", ""},
		"unavailable": {waiting, 0, lifecycle.Report, v1alpha1.ReasonQueued, "which has the failed tests of the run r1: it is down"},
		"for long":    {late, time.Hour, lifecycle.Report, v1alpha1.ReasonError, "could not be read for"},
		"impossible":  {start(&rerun.FailedTests{Impossible: "No."}, lifecycle.Creation{}), 0, lifecycle.Report, v1alpha1.ReasonError, "No."},
		"not whole":   {start(&rerun.FailedTests{NotWhole: "No."}, lifecycle.Creation{}), 0, lifecycle.Report, v1alpha1.ReasonInconclusive, "No."},
		"no version":  {start(rerun.PlanFailed(r), lifecycle.Creation{Result: lifecycle.NotWhole, Detail: "No."}), 0, lifecycle.Report, v1alpha1.ReasonInconclusive, "No."},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.o, t0.Add(tc.after))
			if d.Action != tc.action || d.Condition.Reason != tc.state || !strings.Contains(d.Condition.Message, tc.says) {
				t.Errorf("%q %s: %s", d.Action, d.Condition.Reason, d.Condition.Message)
			}
		})
	}
}

package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestTogether: whatever the tests of two and three runs in a row do, the last one is green only if every test passed in one of them, and the
// last result of none is a failure.
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
		chain := []suite.Link{{Suite: root, Documents: []results.Document{first.document("")}, Digest: "d"}}
		trigger := withMinTests(root.Status.Results.Tests - root.Status.Results.Skipped)
		runs := []*v1alpha1.Suite{skips(passedRun("r0", root.Status.Results.Tests), root.Status.Results.Skipped)}
		request := suite.FailedRequest{Suite: aSuite("r2", 60, commit("a"), onlyFailedOf(root)), Trigger: trigger, Environment: anEnvironment(), Ledger: aLedger(root), Chain: chain, Digest: "d", Runs: runs}
		plan := suite.PlanFailed(request).Plan
		for _, second := range all("pfs-", 2) {
			green += checkTogether(t, request.Suite, plan, second, first)
			if !strings.Contains(string(second), "f") {
				continue
			}
			again := failedRun("r2", 60, second, onlyFailedOf(root))
			link := suite.Link{Suite: again, Documents: []results.Document{second.document(plan.Names)}, Digest: "d"}
			request := suite.FailedRequest{Suite: aSuite("r3", 120, commit("a"), onlyFailedOf(again)), Trigger: trigger, Environment: anEnvironment(), Ledger: aLedger(root, again),
				Chain: append([]suite.Link{link}, chain...), Digest: "d", Runs: runs}
			next := suite.PlanFailed(request).Plan
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
	tests := last.tests(plan.Names)
	c := &results.Collected{Summary: results.Merge([]results.Pod{{Summary: tests.Summary()}})}
	progress, by := v1alpha1.Passed("The run passed."), v1alpha1.DecidedByTests
	if j := c.Judge(results.Requirement{}); j.Problem != "" {
		progress = v1alpha1.Failed(j.Problem)
	}
	job := aJob(s.Name)
	o := suite.Observation{Suite: s, Job: job, State: outcome.State{Condition: progress, DecidedBy: by, Collected: c}, JobInfo: suite.JobInfo{Plan: plan}, Definition: defined(aTrigger(), nil)}
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
	plan := suite.PlanFailed(r).Plan
	tests := outcomes("--pp").tests(plan.Names)
	c := &results.Collected{Summary: tests.Summary()}
	other := *plan
	other.Of = "r0"
	old := outcomes("--pp").tests("")
	forgets := &results.Collected{Summary: old.Summary()}
	for name, tc := range map[string]struct {
		change func(*suite.Observation)
		state  string
		says   string
	}{
		"whole":               {func(*suite.Observation) {}, v1alpha1.ReasonPassed, "2 failed tests of r1 passed; the other 2 passed there."},
		"no plan":             {func(o *suite.Observation) { o.Plan = nil }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"that of another run": {func(o *suite.Observation) { o.Plan = &other }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"its exit code alone": {func(o *suite.Observation) { o.DecidedBy = v1alpha1.DecidedByExitCode }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"no reports":          {func(o *suite.Observation) { o.Collected = nil }, v1alpha1.ReasonInconclusive, "Nobody knows"},
		"an older collector":  {func(o *suite.Observation) { o.Collected = forgets }, v1alpha1.ReasonFailed, "2 did not run here or did not pass"},
		"something deployed": {func(o *suite.Observation) {
			o.Stream = []*v1alpha1.Suite{aSuite("b1", 90, commit("b"), keyed("other"))}
		},
			v1alpha1.ReasonInconclusive, "The run b1 tests what is there."},
		"workloads that change": {func(o *suite.Observation) {
			o.UnderTest = suite.UnderTest{Start: shop, Tested: &v1alpha1.UnderTest{Workloads: shop, Changed: "It has b."}}
			o.Successor = suite.Successor{Problem: "No."}
		}, v1alpha1.ReasonInconclusive, "It has b."},
	} {
		t.Run(name, func(t *testing.T) {
			o := suite.Observation{
				Suite:      r.Suite,
				Job:        aJob("r2"),
				State:      outcome.State{Condition: v1alpha1.Passed("The run passed."), DecidedBy: v1alpha1.DecidedByTests, Collected: c},
				JobInfo:    suite.JobInfo{Plan: plan},
				Definition: defined(r.Trigger, nil),
				End:        suite.End{PassedBefore: passedRun("r0", 1000)},
			}
			tc.change(&o)
			d := decide(o, t0.Add(time.Hour))
			if d.Condition.Reason != tc.state || !strings.Contains(d.Condition.Message, tc.says) || strings.Contains(d.Condition.Message, "1000") {
				t.Errorf("%s: %s", d.Condition.Reason, d.Condition.Message)
			}
		})
	}
}

func TestNoVersion(t *testing.T) {
	known := func(s *v1alpha1.Suite) { s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: shop} }
	changed := func(was, is []v1alpha1.TestedWorkload) string {
		if was[0].Start.SHA != is[0].Start.SHA {
			return "It has b."
		}
		return ""
	}
	moved := []v1alpha1.TestedWorkload{{Kind: "Deployment", Name: "shop", Start: &v1alpha1.WorkloadVersion{UID: "1", SHA: "b"}}}
	for name, tc := range map[string]struct {
		chain []*v1alpha1.Suite
		now   []v1alpha1.TestedWorkload
		says  string
	}{
		"no workloads":      {[]*v1alpha1.Suite{failedRun("r1", 0, "pf")}, nil, ""},
		"the same":          {[]*v1alpha1.Suite{failedRun("r1", 0, "pf", known)}, shop, ""},
		"another":           {[]*v1alpha1.Suite{failedRun("r1", 0, "pf", known)}, moved, "changed after the run r1: It has b."},
		"not known then":    {[]*v1alpha1.Suite{failedRun("r1", 0, "pf")}, shop, "Nobody knows which version the run r1 tested"},
		"not known now":     {[]*v1alpha1.Suite{failedRun("r1", 0, "pf", known)}, nil, "Nobody knows whether"},
		"one in the middle": {[]*v1alpha1.Suite{failedRun("r2", 0, "pf", known), failedRun("r1", 0, "pf")}, shop, "Nobody knows which version the run r1 tested"},
	} {
		t.Run(name, func(t *testing.T) {
			got := suite.NoVersion(aSuite("r9", 0), tc.chain, tc.now, changed)
			if got != "" != (tc.says != "") || !strings.Contains(got, tc.says) {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestFindsFailedFirst: a run starts only with the tests that it repeats, and waits for the store.
func TestFindsFailedFirst(t *testing.T) {
	r := aFailedRequest("ppff")
	start := func(f *suite.FailedTests, c suite.Creation) suite.Observation {
		return suite.Observation{Suite: r.Suite, Definition: defined(r.Trigger, anEnvironment()), Waiting: suite.Waiting{Failed: f, Creation: c}}
	}
	waiting := start(&suite.FailedTests{Unavailable: "it is down"}, suite.Creation{})
	s := r.Suite.DeepCopy()
	suite.SetStatus(s, waiting, decide(waiting, t0), t0)
	late := start(&suite.FailedTests{Unavailable: "it is down"}, suite.Creation{})
	late.Suite = s
	for name, tc := range map[string]struct {
		o      suite.Observation
		after  time.Duration
		action suite.Action
		state  string
		says   string
	}{
		"first":       {start(nil, suite.Creation{}), 0, suite.FindFailed, "", ""},
		"found":       {start(suite.PlanFailed(r), suite.Creation{}), 0, suite.CreateJob, "", ""},
		"unavailable": {waiting, 0, suite.Report, v1alpha1.ReasonQueued, "which has the failed tests of the run r1: it is down"},
		"for long":    {late, time.Hour, suite.Report, v1alpha1.ReasonError, "could not be read for"},
		"impossible":  {start(&suite.FailedTests{Impossible: "No."}, suite.Creation{}), 0, suite.Report, v1alpha1.ReasonError, "No."},
		"not whole":   {start(&suite.FailedTests{NotWhole: "No."}, suite.Creation{}), 0, suite.Report, v1alpha1.ReasonInconclusive, "No."},
		"no version":  {start(suite.PlanFailed(r), suite.Creation{Result: suite.NotWhole, Detail: "No."}), 0, suite.Report, v1alpha1.ReasonInconclusive, "No."},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.o, t0.Add(tc.after))
			if d.Action != tc.action || d.Condition.Reason != tc.state || !strings.Contains(d.Condition.Message, tc.says) {
				t.Errorf("%q %s: %s", d.Action, d.Condition.Reason, d.Condition.Message)
			}
		})
	}
}

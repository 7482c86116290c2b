package history

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// kept is a history in which every promise is kept: the first run is superseded by the second, whose answer was lost
// once, and which is deployed again after it has passed. The third fails, and the node of the fourth is lost.
func kept() History {
	attempt := func(identity string, sent int) Attempt {
		return Attempt{Identity: identity, Commit: identity, Stream: "main", Sent: at(sent), Answered: at(sent + 1), Status: 200, Created: "run-" + identity}
	}
	run := func(identity, state string, tests Tests, began int) Run {
		return Run{
			ID: "run-" + identity, Identity: identity, Commit: identity, Stream: "main", State: state, Message: "So it is.", Ends: []string{state},
			Jobs: 1, Tests: tests, Began: at(began), Stopped: at(began + 5), Ended: at(began + 7), CompletedAt: at(began + 6),
		}
	}
	lost := attempt("b", 10)
	lost.Status, lost.Created = 0, ""
	again := attempt("b", 12)
	again.Created, again.Known = "", "run-b"
	superseded := run("a", v1alpha1.ReasonSuperseded, Stopped, 1)
	superseded.SupersededBy = "run-b"
	passed := run("b", v1alpha1.ReasonPassed, Passed, 15)
	passed.DecidedBy, passed.PassedTests = "Tests", 2
	redeployed := attempt("b again", 40)
	redeployed.Commit, redeployed.Created, redeployed.Known, redeployed.Ended = "b", "", "run-b", passed.CompletedAt
	gone := run("d", v1alpha1.ReasonError, Lost, 50)
	gone.Stopped = time.Time{}
	rolled := func(id, state string, tests Tests, began int) Run {
		r := run(id, state, tests, began)
		r.Commit, r.Stream, r.Rolled, r.Created = "x", "rolled", true, at(began-1)
		return r
	}
	changed, repetition := rolled("r1", v1alpha1.ReasonInconclusive, Passed, 100), rolled("r2", v1alpha1.ReasonPassed, Passed, 110)
	repetition.DecidedBy, repetition.PassedTests, repetition.Repeats = "Tests", 2, changed.ID
	kept := History{
		Rollouts: []Rollout{
			{Commit: "x", Sent: at(95), Changed: at(96), Completed: at(97)},
			{Commit: "y", Sent: at(102), Changed: at(103)}, // it fails
			{Commit: "x", Sent: at(104), Changed: at(105), Completed: at(106)},
		},
		Attempts: []Attempt{attempt("a", 0), lost, again, attempt("c", 30), attempt("d", 45), redeployed},
		Runs: []Run{
			superseded, passed, run("c", v1alpha1.ReasonFailed, Failed, 31), gone, changed, repetition,
		},
		Inquiries: []Inquiry{{Run: "run-b"}, {Run: "run-b", Over: true, Green: true}, {Run: "run-c", Over: true}, {Run: "run-a", Over: true, Canceled: true}},
	}
	keepWorld(&kept)
	return kept
}

func TestKeptPromises(t *testing.T) {
	if got := Check(kept()); len(got) > 0 {
		t.Errorf("got %v, want no violation", got)
	}
}

// startAnother makes the run of b inconclusive. The client that was told of it sends its notification again, and is told of another run.
func startAnother(h *History, created time.Time) {
	second := h.Runs[1]
	second.ID, second.Identity, second.Created, second.Began = "second", "b again", created, time.Time{}
	h.Runs[1].State, h.Runs[1].Ends = v1alpha1.ReasonInconclusive, []string{v1alpha1.ReasonInconclusive}
	h.Runs = append(h.Runs, second)
	more := h.Attempts[5]
	more.Known, more.Created, more.Ended = "", "second", time.Time{}
	h.Attempts, h.Inquiries = append(h.Attempts, more), nil
}

// breach is what breaks a promise, and what Check says.
type breach struct {
	breaks func(h *History)
	want   []string
}

func TestBrokenPromises(t *testing.T) {
	cases := map[string]breach{
		"a notification has two runs": {
			func(h *History) {
				twin := h.Runs[1]
				twin.ID, twin.Began = "twin", time.Time{}
				h.Runs = append(h.Runs, twin)
			},
			[]string{"one run: b: has 2 runs, such as run-b and twin"},
		},
		"a verdict across a rollout": {
			func(h *History) {
				h.Runs[4].State, h.Runs[4].Ends = v1alpha1.ReasonFailed, []string{v1alpha1.ReasonFailed}
				h.Runs[4].Tests = Failed
			},
			[]string{"a change, if it says so: run-r2: repeats run-r1, which is \"Failed\" and repeats \"\"", "one version: run-r1: is Failed, and y was rolled out while its tests ran"},
		},
		"nothing changed": {
			func(h *History) { h.Rollouts = h.Rollouts[:1] },
			[]string{"a change, if it says so: run-r1: is Inconclusive, and nothing was deployed: So it is."},
		},
		"a restart is tested": {
			func(h *History) {
				h.Rollouts = h.Rollouts[:2]
				third := h.Runs[5]
				third.ID, third.Identity, third.Repeats, third.Began, third.Stopped = "run-r3", "r3", "", at(130), at(135)
				h.Runs = append(h.Runs, third)
			},
			[]string{"one run per rollout: run-r3: is run 2 of x, which was rolled out 1 times"},
		},
		"what is left is not tested": {
			func(h *History) {
				h.Rollouts = append(h.Rollouts, Rollout{Commit: "z", Sent: at(150), Changed: at(151), Completed: at(152)})
			},
			[]string{"one run per rollout: z: is deployed at the end, and was never tested"},
		},
		"a run that was promised is missing": {
			func(h *History) { h.Runs, h.Inquiries = h.Runs[:3], nil },
			[]string{"one run: d: was accepted, and has no run", "truthful answers: d: was told of run-d, which does not exist"},
		},
		"a Job was created twice": {
			func(h *History) { h.Runs[1].Jobs = 2 },
			[]string{"one job: run-b: has had 2 Jobs"},
		},
		"a run does not end": {
			func(h *History) { h.Runs[3].State = v1alpha1.ReasonRunning },
			[]string{"every run ends: run-d: is Running: So it is."},
		},
		"a run has no state": {
			func(h *History) { h.Runs[3].State = "" },
			[]string{"every run ends: run-d: is without a state: So it is."},
		},
		"an end changes": {
			func(h *History) { h.Runs[1].Ends = []string{v1alpha1.ReasonError, v1alpha1.ReasonPassed} },
			[]string{`ends are final: run-b: has ended as ["Error" "Passed"]`},
		},
		"nobody looked": {
			func(h *History) { h.Runs[1].Ends = nil },
			[]string{"ends are final: run-b: is Passed, and nobody saw it end"},
		},
		"an end says nothing": {
			func(h *History) { h.Runs[1].Message = "" },
			[]string{"ends explained: run-b: is Passed without a message"},
		},
		"a run passed whose tests did not": {
			func(h *History) { h.Runs[1].Tests = Stopped },
			[]string{`ends explained: run-b: is Passed, but its tests were "stopped": So it is.`},
		},
		"a run ends as Error without a fault": {
			func(h *History) { h.Runs[3].Tests, h.Runs[3].Stopped = Passed, at(55) },
			[]string{`ends explained: run-d: is Error, but its tests were "passed": So it is.`},
		},
		"a run was canceled by nobody": {
			func(h *History) { h.Runs[3].State = v1alpha1.ReasonCanceled },
			[]string{`ends explained: run-d: is Canceled, but its tests were "lost": So it is.`},
		},
		"an older deployment supersedes a newer one": {
			func(h *History) { h.Runs[3].SupersededBy = "run-c" },
			[]string{"right supersede: run-d: was superseded by run-c, which is older"},
		},
		"a run was superseded by one that does not exist": {
			func(h *History) { h.Runs[0].SupersededBy = "nobody" },
			[]string{"right supersede: run-a: was superseded by nobody, which does not exist"},
		},
		"a run was superseded by one of another stream": {
			func(h *History) { h.Runs[1].Stream = "other" },
			[]string{"right supersede: run-a: was superseded by run-b of another stream"},
		},
		"two runs of a stream run at once": {
			func(h *History) { h.Runs[2].Began = at(17) },
			[]string{"one at a time: run-c: began before run-b had stopped"},
		},
		"an answer names the run of another notification": {
			func(h *History) { h.Attempts[2].Known = "run-a" },
			[]string{
				"old is announced: b: was told of run-a as if it continued, which had ended",
				"truthful answers: b: was told of run-a, which is a run of a",
			},
		},
		"two clients were told that they created a run": {
			func(h *History) {
				h.Attempts[1].Created = "run-b"
				h.Attempts[2].Created, h.Attempts[2].Known = "run-b", ""
			},
			[]string{"truthful answers: run-b: was created according to 2 answers"},
		},
		"a client was told that there is no run": {
			func(h *History) { h.Attempts[1].Failure = "no" },
			[]string{"truthful answers: b: has a run, but was told that it has none: no"},
		},
		"a notification found a run that ended without a result, and then started another": {
			func(h *History) { startAnother(h, h.Runs[1].CompletedAt) },
			nil,
		},
		"it started another before that end": {
			func(h *History) { startAnother(h, h.Runs[1].CompletedAt.Add(-time.Second)) },
			[]string{"truthful answers: b again: was told of run-b, and of second"},
		},
		"a notification has two runs in its answers": {
			func(h *History) {
				second := h.Runs[1]
				second.ID, second.Identity, second.Began = "second", "b again", time.Time{}
				h.Runs = append(h.Runs, second)
				more := h.Attempts[5]
				more.Known, more.Created, more.Ended = "", "second", time.Time{}
				h.Attempts = append(h.Attempts, more)
			},
			[]string{"truthful answers: b again: was told of run-b, and of second"},
		},
		"a deployment between two notifications of another supersedes that": {
			func(h *History) {
				h.Runs[1].SupersededBy, h.Runs[1].Ended = "run-c", at(50)
				h.Attempts[5].Ended = time.Time{}
			},
			[]string{"right supersede: run-b: was superseded by run-c, which is older"},
		},
		"a run passed without a test that did": {
			func(h *History) { h.Runs[1].PassedTests = 0 },
			[]string{`green is evidence: run-b: passed with 0 passed tests, by "Tests"`},
		},
		"a run with a report passed by its exit code": {
			func(h *History) { h.Runs[1].DecidedBy = "ExitCode" },
			[]string{`green is evidence: run-b: passed with 2 passed tests, by "ExitCode"`},
		},
		"a run passed over a failed test": {
			func(h *History) { h.Runs[1].Tests = Reported },
			[]string{`ends explained: run-b: is Passed, but its tests were "reported": So it is.`},
		},
		"an old result looks like a new one": {
			func(h *History) { h.Attempts[5].Ended = time.Time{} },
			[]string{"old is announced: b again: was told of run-b as if it continued, which had ended"},
		},
		"the time of an old result is wrong": {
			func(h *History) { h.Attempts[5].Ended = at(22) },
			[]string{"old is announced: b again: was told that run-b had ended at 2026-11-22 12:00:22 +0000 UTC, and it says 2026-11-22 12:00:21 +0000 UTC"},
		},
		"a pipeline was told that a failed run passed": {
			func(h *History) { h.Inquiries[2].Green = true },
			[]string{`truthful gates: run-c: is "Failed", but a pipeline was told green=true canceled=false`},
		},
		"a pipeline was told that a run that passed has no result": {
			func(h *History) { h.Inquiries[1].Green, h.Inquiries[1].Canceled = false, true },
			[]string{`truthful gates: run-b: is "Passed", but a pipeline was told green=false canceled=true`},
		},
	}
	maps.Copy(cases, brokenWorlds)
	broken := map[string]bool{}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := kept()
			tc.breaks(&h)
			var got []string
			for _, v := range Check(h) {
				broken[v.Rule] = true
				got = append(got, v.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
	for rule := range rules {
		if !broken[rule] {
			t.Errorf("no case breaks the rule %q", rule)
		}
	}
}

// TestEndedIsNotRenewed: the run ended after a newer one had begun to supersede it, and before it was notified again.
func TestEndedIsNotRenewed(t *testing.T) {
	h := kept()
	h.Runs[1].SupersededBy = "run-c"
	if got := Check(h); len(got) > 0 {
		t.Errorf("got %v, want no violation", got)
	}
}

// TestRollbackSupersedes: the result of an old run answers a rollback, which replaces what continues.
func TestRollbackSupersedes(t *testing.T) {
	h := kept()
	h.Runs[2].State, h.Runs[2].Tests, h.Runs[2].SupersededBy = v1alpha1.ReasonSuperseded, Stopped, "run-b"
	h.Runs[2].Ends, h.Inquiries[2].Canceled = []string{v1alpha1.ReasonSuperseded}, true
	if got := Check(h); len(got) > 0 {
		t.Errorf("got %v, want no violation", got)
	}
}

// TestOrderNeedsCertainty: two notifications that were sent at about the same time may be in any order.
func TestOrderNeedsCertainty(t *testing.T) {
	h := kept()
	h.Attempts[4].Sent, h.Attempts[4].Answered = at(31), at(32)
	h.Runs[3].SupersededBy = "run-c"
	if got := slices.DeleteFunc(Check(h), func(v Violation) bool { return v.Rule != "right supersede" }); len(got) > 0 {
		t.Errorf("got %v, want no violation", got)
	}
}

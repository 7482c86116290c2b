package history

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// keepWorld adds a place to which a good commit is deployed, a bad one, and the good one again. Somebody reruns the bad one after that.
func keepWorld(h *History) {
	tested := func(id, commit, state string, tests Tests, began int) Run {
		return Run{
			ID: "run-" + id, Commit: commit, Place: "world", Repository: "acme/shop", Origin: "a person", State: state,
			Message: "So it is.", Ends: []string{state}, Jobs: 1, Tests: tests, Began: at(began), Stopped: at(began + 5), Ended: at(began + 7), CompletedAt: at(began + 6),
		}
	}
	deployed := func(commit string, seconds int) Deployment {
		return Deployment{Place: "world", Repository: "acme/shop", Commit: commit, At: at(seconds), Told: at(seconds + 1)}
	}
	good, bad := deployed("good", 200), deployed("bad", 210)
	h.Deployments = []Deployment{good, bad, deployed("good", 220), deployed("other", 300)}
	h.Gates = []Gate{{About: good, Asked: "run-g", Run: "run-g", Green: true}, {About: bad, Asked: "run-bad", Run: "run-bad"}}
	h.Tested = []Run{
		tested("g", "good", v1alpha1.ReasonPassed, Passed, 202), tested("bad", "bad", v1alpha1.ReasonFailed, Failed, 212),
		tested("again", "bad", v1alpha1.ReasonInconclusive, Passed, 230),
	}
	h.Reviews = []Review{
		{ID: "7", Place: "world", Repository: "acme/shop", Commit: "good", Decisions: []Decision{{Approved: true, At: at(209)}}},
		{ID: "8", Place: "world", Repository: "acme/shop", Commit: "bad", Decisions: []Decision{{At: at(240)}}},
	}
}

// brokenWorlds are cases of TestBrokenPromises.
var brokenWorlds = map[string]breach{
	"a run passed after its commit was replaced": {
		func(h *History) {
			h.Tested[2].State, h.Tested[2].Ends = v1alpha1.ReasonPassed, []string{v1alpha1.ReasonPassed}
		},
		[]string{"passed there: run-again: passed for bad of acme/shop, by a person, " +
			"and world had good since 12:03:40, as was known at 12:03:41"},
	},
	"a gate is green by the rerun of a commit that was replaced": {
		func(h *History) {
			h.Gates = append(h.Gates, Gate{About: h.Deployments[1], Asked: "run-again", Run: "run-again", Green: true})
		},
		[]string{"green there: run-again: is green for bad by run-again of bad, and world had good"},
	},
	"a deployment is approved although its tests failed": {
		func(h *History) { h.Reviews[1].Decisions[0].Approved = true },
		[]string{"approved is green: 8: was approved at 12:04:00 although the last run of bad in world had not passed"},
	},
	"a deployment is approved before its tests have passed": {
		func(h *History) { h.Reviews[0].Decisions[0].At = at(205) },
		[]string{"approved is green: 7: was approved at 12:03:25 although the last run of good in world had not passed"},
	},
	"a deployment is approved although a later run failed": {
		func(h *History) {
			later := h.Tested[0]
			later.ID, later.State, later.Ends, later.Tests = "run-later", v1alpha1.ReasonFailed, []string{v1alpha1.ReasonFailed}, Failed
			later.CompletedAt, later.Ended = at(212), at(212)
			h.Tested = append(h.Tested, later)
			h.Reviews[0].Decisions[0].At = at(220)
		},
		[]string{"approved is green: 7: was approved at 12:03:40 although the last run of good in world had not passed"},
	},
	"a deployment is approved during another run": {
		func(h *History) {
			later := h.Tested[0]
			later.ID, later.Created, later.CompletedAt, later.Ended = "run-later", at(210), at(230), at(230)
			h.Tested = append(h.Tested, later)
			h.Reviews[0].Decisions[0].At = at(220)
		},
		[]string{"approved is green: 7: was approved at 12:03:40 while run-later was under way"},
	},
	"two decisions about a deployment": {
		func(h *History) { h.Reviews[1].Decisions = append(h.Reviews[1].Decisions, Decision{At: at(241)}) },
		[]string{"one decision: 8: of bad to production beyond world has 2 decisions"},
	},
	"no decision about a deployment": {
		func(h *History) { h.Reviews[1].Decisions = nil },
		[]string{"one decision: 8: of bad to production beyond world has 0 decisions"},
	},
	"a gate is green by an earlier commit": {
		func(h *History) { h.Gates[1].Run, h.Gates[1].Green = "run-g", true },
		[]string{"green there: run-bad: is green for bad by run-g of good, whose tests saw neither it nor what replaced it"},
	},
}

// TestUnknownDeployment: what Postflight could not know before the tests ended is no violation.
func TestUnknownDeployment(t *testing.T) {
	h := kept()
	h.Tested[2].State, h.Tested[2].Ends = v1alpha1.ReasonPassed, []string{v1alpha1.ReasonPassed}
	h.Deployments[2].Told = time.Time{}
	if got := Check(h); len(got) > 0 {
		t.Errorf("got %v, want no violation", got)
	}
}

// TestLaterDeployment: the result of what replaced a commit counts for it.
func TestLaterDeployment(t *testing.T) {
	h := kept()
	other := h.Tested[0]
	other.ID, other.Commit, other.Began, other.Stopped = "run-other", "other", at(302), at(305)
	h.Tested = append(h.Tested, other)
	h.Gates[1].Run, h.Gates[1].Green = "run-other", true
	if got := Check(h); len(got) > 0 {
		t.Errorf("got %v, want no violation", got)
	}
}

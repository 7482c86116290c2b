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

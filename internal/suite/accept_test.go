package suite_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// TestNotAccepted follows a run whose Job is refused: it gives way at once, takes its place again when it
// has to wait for a slot, keeps count of the time since the first refusal, and ends.
func TestNotAccepted(t *testing.T) {
	o := suite.Observation{Suite: aSuite("self", 0), Trigger: aTrigger(), Environment: anEnvironment(), Team: aTeam()}
	s := o.Suite
	refused := func(seconds int) suite.Decision {
		now := t0.Add(time.Duration(seconds) * time.Second)
		d := suite.NotAccepted(o, "the webhook is down", now)
		suite.SetStatus(s, o, d, now)
		return d
	}
	if d := refused(60); d.Again != time.Second || s.State() != v1alpha1.ReasonQueued || !suite.LeavesTurn(s) {
		t.Errorf("at first: %+v, leaves its turn: %t", d, suite.LeavesTurn(s))
	}
	if d := refused(120); d.Again != 15*time.Second || !strings.Contains(d.Condition.Message, "the webhook is down. The run ends as Error if that takes longer than 30m.") {
		t.Errorf("after a minute: %+v", d)
	}
	o.Place = 2
	now := t0.Add(3 * time.Minute)
	suite.SetStatus(s, o, suite.Decide(o, now), now)
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted); suite.LeavesTurn(s) || c.Reason != v1alpha1.ReasonJobWaiting {
		t.Errorf("in the queue again: %+v", c)
	}
	o.Place = 0
	if d := refused(4 * 60); !suite.LeavesTurn(s) || d.Again != 15*time.Second {
		t.Errorf("refused again: %+v", d)
	}
	if d := refused(31 * 60); d.Condition.Reason != v1alpha1.ReasonError || d.Again != 0 {
		t.Errorf("refused for as long as it might have run: %+v", d)
	}
	if want := `did not accept the Job for 30m: the webhook is down.`; !strings.Contains(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded).Message, want) {
		t.Errorf("want %q, got %+v", want, s.Status.Conditions)
	}
}

// TestAcceptedAfterAll: nothing is left of the wait once the Job exists.
func TestAcceptedAfterAll(t *testing.T) {
	o := suite.Observation{Suite: aSuite("self", 0), Trigger: aTrigger(), Environment: anEnvironment(), Team: aTeam()}
	suite.SetStatus(o.Suite, o, suite.NotAccepted(o, "no", t0), t0)
	o.Job, o.Outcome = aJob("self"), v1alpha1.Running("Busy.")
	suite.SetStatus(o.Suite, o, suite.Decide(o, t0), t0)
	if c := meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionJobAccepted); c != nil {
		t.Errorf("got %+v", c)
	}
}

// TestWhoIsRefusedKeepsNoSlot: a run whose Job is not accepted does not count in the queue.
func TestWhoIsRefusedKeepsNoSlot(t *testing.T) {
	first, second := aSuite("first", 0, keyed("a")), aSuite("second", 1, keyed("b"))
	all := []*v1alpha1.Suite{first, second}
	place := func() int {
		return suite.Place(second, all, func(*v1alpha1.Suite) bool { return false }, suite.Limits{Team: 1})
	}
	if place() != 1 {
		t.Fatalf("the first goes first, got place %d", place())
	}
	o := suite.Observation{Suite: first, Trigger: aTrigger(), Environment: anEnvironment(), Team: aTeam()}
	suite.SetStatus(first, o, suite.NotAccepted(o, "no", t0), t0)
	if place() != 0 {
		t.Errorf("the first is refused, and the second is at place %d", place())
	}
}

package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// TestNotAccepted follows a run whose Job is not accepted: it yields its slot at once, queues again for its
// next attempt, counts the time since the first refusal, and ends.
func TestNotAccepted(t *testing.T) {
	o := lifecycle.Observation{Suite: aSuite("self", 0), Definition: defined(aTrigger(), anEnvironment())}
	s := o.Suite
	refused := func(seconds int) lifecycle.Decision {
		now := t0.Add(time.Duration(seconds) * time.Second)
		o.Creation = lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: "the webhook is down"}
		d := decide(o, now)
		lifecycle.SetStatus(s, o, d, now)
		return d
	}
	if d := refused(60); d.RequeueAfter != time.Second || s.State() != v1alpha1.ReasonQueued || !queue.YieldsSlot(s) {
		t.Errorf("at first: %+v, yields its slot: %t", d, queue.YieldsSlot(s))
	}
	if d := refused(120); d.RequeueAfter != 15*time.Second || !strings.Contains(d.Condition.Message, "the webhook is down. The run ends as Error if that takes longer than 30m.") {
		t.Errorf("after a minute: %+v", d)
	}
	o.Creation, o.Position = lifecycle.Creation{}, &queue.Position{Number: 2}
	now := t0.Add(3 * time.Minute)
	lifecycle.SetStatus(s, o, decide(o, now), now)
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted); queue.YieldsSlot(s) || c.Reason != v1alpha1.ReasonJobWaiting {
		t.Errorf("in the queue again: %+v", c)
	}
	o.Position = nil
	if d := refused(4 * 60); !queue.YieldsSlot(s) || d.RequeueAfter != 15*time.Second {
		t.Errorf("refused again: %+v", d)
	}
	if d := refused(31 * 60); d.Condition.Reason != v1alpha1.ReasonError || d.RequeueAfter != 0 {
		t.Errorf("refused for as long as it might have run: %+v", d)
	}
	if want := `did not accept the Job for 30m: the webhook is down.`; !strings.Contains(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded).Message, want) {
		t.Errorf("want %q, got %+v", want, s.Status.Conditions)
	}
}

// TestAcceptedAfterAll: the condition about the wait is removed once the Job exists.
func TestAcceptedAfterAll(t *testing.T) {
	o := lifecycle.Observation{Suite: aSuite("self", 0), Definition: defined(aTrigger(), anEnvironment())}
	o.Creation = lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: "no"}
	lifecycle.SetStatus(o.Suite, o, decide(o, t0), t0)
	o.Creation = lifecycle.Creation{}
	o.Job, o.Condition = aJob("self"), v1alpha1.Running("Busy.")
	lifecycle.SetStatus(o.Suite, o, decide(o, t0), t0)
	if c := meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionJobAccepted); c != nil {
		t.Errorf("got %+v", c)
	}
}

// TestRefusedRunHoldsNoSlot: a run whose Job is not accepted does not count in the queue.
func TestRefusedRunHoldsNoSlot(t *testing.T) {
	first, second := aSuite("first", 0, keyed("a")), aSuite("second", 1, keyed("b"))
	q := queue.New()
	q.SetTeamLimit(1)
	position := func() int {
		q.Set(first.DeepCopy())
		q.Set(second)
		p, _ := q.Position("second")
		return p.Number
	}
	if got := position(); got != 1 {
		t.Fatalf("the first goes first, got position %d", got)
	}
	o := lifecycle.Observation{Suite: first, Definition: defined(aTrigger(), anEnvironment())}
	o.Creation = lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: "no"}
	lifecycle.SetStatus(first, o, decide(o, t0), t0)
	if got := position(); got != 0 {
		t.Errorf("the first is refused, and the second is at position %d", got)
	}
}

// TestNotCreated tests the other reasons for which a Job was not created.
func TestNotCreated(t *testing.T) {
	for name, tc := range map[string]struct {
		creation lifecycle.Creation
		want     lifecycle.Decision
	}{
		"Impossible": {
			creation: lifecycle.Creation{Result: lifecycle.Impossible, Detail: "Rename the container."},
			want:     lifecycle.Decision{Condition: v1alpha1.Error("Rename the container.")},
		},
		"Rejected": {
			creation: lifecycle.Creation{Result: lifecycle.Rejected, Detail: "spec is invalid"},
			want:     lifecycle.Decision{Condition: v1alpha1.Error(`The API server refused the Job: spec is invalid. Fix the jobTemplate of Trigger "smoke" and notify again.`)},
		},
		"NameTaken": {
			creation: lifecycle.Creation{Result: lifecycle.NameTaken},
			want:     lifecycle.Decision{Condition: v1alpha1.Error(`A Job "self" that belongs to something else is in the way. Delete it and notify again.`)},
		},
		"NameInUse": {
			creation: lifecycle.Creation{Result: lifecycle.NameInUse},
			want: lifecycle.Decision{
				Condition:    v1alpha1.Queued("Waiting for the Job of an earlier Suite of this name to be deleted."),
				RequeueAfter: 2 * time.Second,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: aSuite("self", 0), Definition: defined(aTrigger(), anEnvironment()), Waiting: lifecycle.Waiting{Creation: tc.creation}}
			if diff := cmp.Diff(tc.want, decide(o, t0)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

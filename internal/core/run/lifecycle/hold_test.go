package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// heldUntil is an Environment on hold.
func heldUntil(until time.Time, reason, by string) *v1alpha1.Environment {
	e := anEnvironment()
	e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(until), Reason: reason}
	if by != "" {
		e.Annotations = map[string]string{v1alpha1.AnnotationHeldBy: by}
	}
	return e
}

func TestDecideOnHold(t *testing.T) {
	inAnHour := heldUntil(t0.Add(time.Hour), "debugging 812", "")
	onHold := lifecycle.Decision{
		Condition: v1alpha1.Queued("Waiting: staging is on hold until 19:00 UTC (debugging 812)."), RequeueAfter: time.Hour, OnHold: true, Waiting: true,
	}
	self := aSuite("self", 2)
	for name, tc := range map[string]struct {
		reason      string
		environment *v1alpha1.Environment
		change      func(*lifecycle.Observation)
		after       time.Duration
		want        lifecycle.Decision
	}{
		"queued": {
			reason: "The message says until when and why, and a timer ends the wait.", environment: inAnHour, want: onHold,
		},
		"almost over": {
			reason: "Only the rest is waited for.", environment: inAnHour, after: 59*time.Minute + 59*time.Second,
			want: lifecycle.Decision{Condition: onHold.Condition, RequeueAfter: time.Second, OnHold: true, Waiting: true},
		},
		"over": {
			reason: "The end of a hold needs nobody.", environment: inAnHour, after: time.Hour, want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"old": {
			reason: "The schema accepts a hold of the past, which means nothing.", environment: heldUntil(t0.Add(-time.Hour), "", ""),
			want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"behind an older run": {
			reason: "Of two reasons to wait, the message has the one that somebody chose.", environment: inAnHour,
			change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{aSuite("older", 1, withJob), self} }, want: onHold,
		},
		"for a slot": {
			reason: "The position says nothing during a hold.", environment: inAnHour,
			change: func(o *lifecycle.Observation) { o.Position = &queue.Position{Number: 3} }, want: onHold,
		},
		"for the store": {
			reason: "The store is not asked during a hold.", environment: inAnHour,
			change: func(o *lifecycle.Observation) {
				o.Suite = aSuite("self", 2, inState(v1alpha1.StoreUnavailable("")))
				o.Suite.Status.CompletionTime = nil
				o.Trigger.Spec.Inputs = &v1alpha1.Inputs{}
			}, want: onHold,
		},
		"superseded": {
			reason: "A newer deployment supersedes it as at any time.", environment: inAnHour,
			change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{self, aSuite("newer", 3)} },
			want: lifecycle.Decision{
				Condition: v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."), SupersededBy: "newer",
			},
		},
		"canceled": {
			reason: "It ends at once.", environment: inAnHour,
			change: func(o *lifecycle.Observation) { o.Suite = aSuite("self", 2, canceled) },
			want:   lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"started": {
			reason: "A run that has started continues.", environment: inAnHour,
			change: func(o *lifecycle.Observation) { o.Job, o.Condition = aJob("self"), v1alpha1.Running("Busy.") },
			want:   lifecycle.Decision{Condition: v1alpha1.Running("Busy.")},
		},
		"team suspended": {
			reason: "The hold may end before that.", environment: inAnHour,
			change: func(o *lifecycle.Observation) { o.Team.Spec.Suspended = true },
			want:   lifecycle.Decision{Condition: v1alpha1.Queued("The team is suspended; the run starts when it no longer is.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: self, Definition: defined(aTrigger(), tc.environment)}
			if tc.change != nil {
				tc.change(&o)
			}
			if diff := cmp.Diff(tc.want, decide(o, t0.Add(tc.after))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHoldMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		environment *v1alpha1.Environment
		want        string
	}{
		"nothing said": {heldUntil(t0.Add(time.Hour), "", ""), "Waiting: staging is on hold until 19:00 UTC."},
		"by somebody":  {heldUntil(t0.Add(time.Hour), "", "anna@example.com"), "Waiting: staging is on hold until 19:00 UTC (by anna@example.com)."},
		"all": {heldUntil(t0.Add(time.Hour), "debugging 812", "anna@example.com"),
			"Waiting: staging is on hold until 19:00 UTC (debugging 812, by anna@example.com)."},
		"another day":       {heldUntil(t0.Add(7*time.Hour), "", ""), "Waiting: staging is on hold until 01:00 UTC on 21 November 2026."},
		"another time zone": {heldUntil(t0.Add(time.Hour).In(time.FixedZone("", 7*60*60)), "", ""), "Waiting: staging is on hold until 19:00 UTC."},
		"hostile":           {heldUntil(t0.Add(time.Hour), "a\n\x1b[31mb", "\x00c\nd"), "Waiting: staging is on hold until 19:00 UTC (a; b, by c; d)."},
		"long": {heldUntil(t0.Add(time.Hour), strings.Repeat("ü", 256), ""),
			"Waiting: staging is on hold until 19:00 UTC (" + strings.Repeat("ü", 256) + ")."},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: aSuite("self", 2), Definition: defined(aTrigger(), tc.environment)}
			if got := decide(o, t0).Condition.Message; got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestHoldEndsNoRun: what a run has waited for before and during a hold does not count after it.
func TestHoldEndsNoRun(t *testing.T) {
	for name, fails := range map[string]func(*lifecycle.Observation){
		"the store is unavailable": func(o *lifecycle.Observation) {
			o.Trigger.Spec.Inputs, o.Inputs = &v1alpha1.Inputs{}, &lifecycle.Inputs{Unavailable: "no route"}
		},
		"the Job is not accepted": func(o *lifecycle.Observation) {
			o.Creation = lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: "quota"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, now := aSuite("self", 0), t0
			step := func(e *v1alpha1.Environment, passed time.Duration) string {
				now = now.Add(passed)
				o := lifecycle.Observation{Suite: s, Definition: defined(aTrigger(), e)}
				fails(&o)
				lifecycle.SetStatus(s, o, decide(o, now), now)
				return s.State()
			}
			limit := aTrigger().RunTimeout()
			step(anEnvironment(), 0)
			step(heldUntil(t0.Add(24*time.Hour), "", ""), limit-time.Minute)
			if state := step(anEnvironment(), 24*time.Hour); state != v1alpha1.ReasonQueued {
				t.Errorf("after the hold, the run is %s: %s", state, s.Succeeded().Message)
			}
			if state := step(anEnvironment(), limit); state != v1alpha1.ReasonError {
				t.Errorf("after its patience, the run is %s", state)
			}
		})
	}
}

// TestOnHoldIsRecorded: the metrics count from the end of a hold.
func TestOnHoldIsRecorded(t *testing.T) {
	s := aSuite("self", 0)
	at := func(e *v1alpha1.Environment, now time.Time) *metav1.Condition {
		o := lifecycle.Observation{Suite: s, Definition: defined(aTrigger(), e), Waiting: lifecycle.Waiting{Position: &queue.Position{Number: 1}}}
		o.Team.Spec.MaxConcurrentSuites = 1
		lifecycle.SetStatus(s, o, decide(o, now), now)
		return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionOnHold)
	}
	if c := at(anEnvironment(), t0); c != nil {
		t.Errorf("before the hold: %+v", c)
	}
	if at(heldUntil(t0.Add(time.Hour), "", ""), t0.Add(time.Minute)); !s.OnHold() {
		t.Error("the hold is not recorded")
	}
	end := t0.Add(2 * time.Minute)
	for _, now := range []time.Time{end, end.Add(time.Minute)} {
		if c := at(anEnvironment(), now); s.OnHold() || !c.LastTransitionTime.Time.Equal(end) {
			t.Errorf("after the hold: %+v, want it to have ended at %s", c, end)
		}
	}
}

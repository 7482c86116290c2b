package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

func TestDecideSettling(t *testing.T) {
	settling := lifecycle.Decision{
		Condition: v1alpha1.Queued("Waiting until staging has settled: the last deployment was at 18:00:10 UTC; " +
			"runs start at 18:02:10 UTC unless another follows, at 18:10:00 UTC at the latest."),
		RequeueAfter: 2 * time.Minute, OnHold: true, Waiting: true,
	}
	onHold := lifecycle.Decision{Condition: v1alpha1.Queued("Waiting: staging is on hold until 18:05 UTC."), RequeueAfter: 5*time.Minute - 10*time.Second, OnHold: true, Waiting: true}
	self := aSuite("self", 2)
	for name, tc := range map[string]struct {
		reason string
		change func(*lifecycle.Observation)
		at     int
		want   lifecycle.Decision
	}{
		"a deployment":   {reason: "The message says until when, and a timer ends the wait.", at: 10, want: settling},
		"almost settled": {reason: "Only the rest is waited for, and nothing is written.", at: 129, want: lifecycle.Decision{Condition: settling.Condition, RequeueAfter: time.Second, OnHold: true, Waiting: true}},
		"settled":        {reason: "Nobody has to do anything.", at: 130, want: lifecycle.Decision{Action: lifecycle.CreateJob}},
		"endless deployments": {
			reason: "It starts atMost after the first of them.", at: 601,
			change: func(o *lifecycle.Observation) { o.Burst = burst(0, 600) }, want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"removed": {
			reason: "It starts at once.", at: 10,
			change: func(o *lifecycle.Observation) { o.Environment.Spec.Settle = nil }, want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"lowered": {
			reason: "The new value counts.", at: 20,
			change: func(o *lifecycle.Observation) { o.Environment.Spec.Settle.Quiet.Duration = 10 * time.Second }, want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"a longer hold": {
			reason: "Of both, the message names the one that ends later.", at: 10,
			change: func(o *lifecycle.Observation) { o.Environment.Spec.Hold = heldUntil(after(300), "", "").Spec.Hold }, want: onHold,
		},
		"a shorter hold": {
			reason: "The run starts only once the Environment has settled.", at: 10,
			change: func(o *lifecycle.Observation) { o.Environment.Spec.Hold = heldUntil(after(60), "", "").Spec.Hold }, want: settling,
		},
		"behind an older run": {
			reason: "Other reasons to wait come after it.", at: 10,
			change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{aSuite("older", 1, withJob), self} }, want: settling,
		},
		"superseded": {
			reason: "Of a burst, the newest deployment is tested.", at: 10,
			change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{self, aSuite("newer", 10)} },
			want:   lifecycle.Decision{Condition: v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."), SupersededBy: "newer"},
		},
		"canceled": {
			reason: "It ends at once.", at: 10,
			change: func(o *lifecycle.Observation) { o.Suite = aSuite("self", 2, canceled) },
			want:   lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"started again by a person": {
			reason: "It tests what was deployed, which has to settle like for any run.", at: 10,
			change: func(o *lifecycle.Observation) { o.Suite = aSuite("self", 9, rerunBy) }, want: settling,
		},
		"started": {
			reason: "A run that has started continues.", at: 10,
			change: func(o *lifecycle.Observation) { o.Job, o.Condition = aJob("self"), v1alpha1.Running("Busy.") },
			want:   lifecycle.Decision{Condition: v1alpha1.Running("Busy.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: self, Definition: defined(aTrigger(), settleIn(2*time.Minute, 10*time.Minute)), Waiting: lifecycle.Waiting{Burst: burst(0, 10)}}
			if tc.change != nil {
				tc.change(&o)
			}
			if diff := cmp.Diff(tc.want, decide(o, after(tc.at))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettlingMessage(t *testing.T) {
	const waiting = "Waiting until staging has settled: the last deployment was at "
	for name, tc := range map[string]struct {
		atMost time.Duration
		burst  queue.Burst
		want   string
	}{
		"one deployment":   {10 * time.Minute, burst(0, 0), waiting + "18:00:00 UTC; runs start at 18:02:00 UTC unless another follows, at 18:10:00 UTC at the latest."},
		"the latest":       {10 * time.Minute, burst(0, 480), waiting + "18:08:00 UTC; runs start at 18:10:00 UTC, also if another follows."},
		"the next morning": {24 * time.Hour, burst(0, 0), waiting + "18:00:00 UTC; runs start at 18:02:00 UTC unless another follows, at 18:00:00 UTC on 21 November 2026 at the latest."},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: aSuite("self", 2), Definition: defined(aTrigger(), settleIn(2*time.Minute, tc.atMost)), Waiting: lifecycle.Waiting{Burst: tc.burst}}
			if got := decide(o, tc.burst.Last).Condition.Message; got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestSettlingIsRecorded: a run that waits for its Environment to settle is no stuck queue, and the metrics count from then on.
func TestSettlingIsRecorded(t *testing.T) {
	s := aSuite("self", 0)
	at := func(seconds int) *metav1.Condition {
		o := lifecycle.Observation{Suite: s, Definition: defined(aTrigger(), settleIn(time.Minute, 0)), Waiting: lifecycle.Waiting{Position: &queue.Position{Number: 1}, Burst: burst(0, 0)}}
		o.Team.Spec.MaxConcurrentSuites = 1
		lifecycle.SetStatus(s, o, decide(o, after(seconds)), after(seconds))
		return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionOnHold)
	}
	if at(1); !s.OnHold() {
		t.Error("it is not recorded")
	}
	for _, seconds := range []int{60, 90} {
		if c := at(seconds); s.OnHold() || !c.LastTransitionTime.Time.Equal(after(60)) {
			t.Errorf("once it has settled: %+v, want it to have ended at %s", c, after(60))
		}
	}
}

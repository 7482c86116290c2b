package lifecycle_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
)

// TestScheduleRunsAgain: a schedule tests a commit again that has a result, whatever its Trigger says about duplicates, but never beside a run
// of it, and once for each of its times.
func TestScheduleRunsAgain(t *testing.T) {
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{v1alpha1.AnnotationIdempotencyKey: k} }
	}
	a := commit("a")
	newer := []*v1alpha1.Suite{aSuite("newer", 3, commit("b"))}
	for name, tc := range map[string]struct {
		existing *v1alpha1.Suite
		want     bool
	}{
		"passed":                     {aSuite("run", 1, a, inState(v1alpha1.Passed(""))), true},
		"failed":                     {aSuite("run", 1, a, inState(v1alpha1.Failed(""))), true},
		"superseded":                 {aSuite("run", 1, a, inState(v1alpha1.Superseded(""))), true},
		"canceled":                   {aSuite("run", 1, a, inState(v1alpha1.Canceled(""))), true},
		"could not be run":           {aSuite("run", 1, a, inState(v1alpha1.Error(""))), true},
		"running":                    {aSuite("run", 1, a, inState(v1alpha1.Running(""))), false},
		"queued":                     {aSuite("run", 1, a), false},
		"being canceled":             {aSuite("run", 1, a, canceled), false},
		"being superseded":           {aSuite("run", 1, a, func(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" }), false},
		"being deleted":              {aSuite("run", 1, a, deleted), true},
		"the time before":            {aSuite("run", 1, a, key("schedule/1"), inState(v1alpha1.Passed(""))), true},
		"the time before, running":   {aSuite("run", 1, a, key("schedule/1")), false},
		"of this time":               {aSuite("run", 1, a, key("schedule/2")), false},
		"of this time, passed":       {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Passed(""))), false},
		"of this time, failed":       {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Failed(""))), false},
		"of this time, canceled":     {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Canceled(""))), false},
		"of this time, could not be": {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Error(""))), false},
	} {
		for _, policy := range []v1alpha1.DuplicatePolicy{v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment, v1alpha1.DuplicatesRerunUnsuccessful} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				r := rerun.Duplicate{Origin: v1alpha1.OriginSchedule, Policy: policy, Stream: newer, Ledger: aLedger(newer...)}
				if got := rerun.StartsAttempt(tc.existing, aSuite("next", 5, a, key("schedule/2")), r); got != tc.want {
					t.Errorf("got %t", got)
				}
			})
		}
	}
}

// TestScheduledSupersedesNothing, but is superseded, unless a deployment was notified while it continued.
func TestScheduledSupersedesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		run, other *v1alpha1.Suite
		want       bool // the run is superseded
	}{
		"a later one of a schedule":        {aSuite("run", 1, commit("a")), aSuite("nightly", 2, commit("b"), scheduled), false},
		"a later deployment":               {aSuite("nightly", 1, commit("a"), scheduled), aSuite("run", 2, commit("b")), true},
		"two of schedules":                 {aSuite("a", 1, commit("a"), scheduled), aSuite("b", 2, commit("b"), scheduled), false},
		"notified while it continued":      {aSuite("run", 1, commit("a")), aSuite("nightly", 2, commit("b"), scheduled, notifiedAgain(3)), true},
		"notified before the other one is": {aSuite("nightly", 1, commit("a"), scheduled, notifiedAgain(2)), aSuite("run", 3, commit("b")), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rerun.NoteSuperseded(tc.run.DeepCopy(), []*v1alpha1.Suite{tc.run, tc.other}); got != tc.want {
				t.Errorf("got %t", got)
			}
			o := lifecycle.Observation{Suite: tc.run, Stream: []*v1alpha1.Suite{tc.run, tc.other}, Definition: defined(aTrigger(), anEnvironment())}
			if got := decide(o, t0).Condition.Reason == v1alpha1.ReasonSuperseded; got != tc.want {
				t.Errorf("it is superseded: %t", got)
			}
		})
	}
}

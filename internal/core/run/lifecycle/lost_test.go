package lifecycle_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
)

// TestLostWhileStopped: pods that no node confirms may still run, which the newer run has to say. So the run ends as Error, whether it was
// lost or stopped first, and however far its Job is. Once its pods are known to be gone, it ends as what stopped it says.
func TestLostWhileStopped(t *testing.T) {
	self, newer := aSuite("self", 2, withJob), aSuite("newer", 3)
	lost := v1alpha1.Error("The pod may still be running.")
	causes := map[string]struct {
		suite  *v1alpha1.Suite
		stream []*v1alpha1.Suite
		gone   string // how it ends without the loss
	}{
		"superseded":          {self, []*v1alpha1.Suite{self, newer}, v1alpha1.ReasonSuperseded},
		"canceled":            {aSuite("self", 2, withJob, canceled), nil, v1alpha1.ReasonCanceled},
		"deleted":             {aSuite("self", 2, withJob, deleted), nil, v1alpha1.ReasonCanceled},
		"superseded, as said": {aSuite("self", 2, withJob, supersededByNewer), nil, v1alpha1.ReasonSuperseded},
	}
	jobs := map[string]struct {
		job       *batchv1.Job
		requested time.Time
		done      bool // without the loss
	}{
		"lost first":             {startedJob("self", t0), time.Time{}, false},
		"stopped first":          {startedJob("self", t0), t0.Add(time.Minute), false},
		"the Job was deleted":    {goingJob("self"), time.Time{}, true},
		"stopped, and then that": {goingJob("self"), t0.Add(time.Minute), true},
		"the Job is gone":        {nil, time.Time{}, true},
	}
	for how, cause := range causes {
		for order, tc := range jobs {
			t.Run(how+", "+order, func(t *testing.T) {
				o := lifecycle.Observation{Suite: cause.suite, Stream: cause.stream, Definition: lifecycle.Definition{Trigger: aTrigger()}, Job: tc.job, Stopping: lifecycle.Stopping{GiveUp: time.Minute}}
				o.State.Condition = v1alpha1.Running("Its pods are stopping.")
				o.Stopping = lifecycle.Stopping{Since: t0, Requested: tc.requested, Lost: lost.Message}
				o.Stopping.PodsLeft = tc.job == nil
				if got := decide(o, t0.Add(time.Hour)); got.Condition != lost || got.Action != lifecycle.Report {
					t.Errorf("with lost pods, it is %q: %s, want Error", got.Condition.Reason, got.Condition.Message)
				}
				o.Stopping.Lost, o.Stopping.Done, o.Stopping.PodsLeft = "", tc.done, false
				if got := decide(o, t0.Add(time.Hour)).Condition.Reason; tc.done && got != cause.gone {
					t.Errorf("without pods, it is %q, want %q", got, cause.gone)
				}
			})
		}
	}
}

func supersededByNewer(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" }

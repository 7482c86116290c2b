package lifecycle_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// TestWhenToReport: what a status waits for, so that Jobs come first and a team that queues thousands delays only itself.
func TestWhenToReport(t *testing.T) {
	ready := func(change func(*lifecycle.Observation)) lifecycle.Observation {
		o := lifecycle.Observation{Suite: aSuite("a", 0), Definition: defined(aTrigger(), anEnvironment())}
		change(&o)
		return o
	}
	starting := func(o *lifecycle.Observation) {
		o.Job, o.State.Condition = aJob("a"), v1alpha1.Starting("The pod starts.")
	}
	for name, tc := range map[string]struct {
		reason string
		o      lifecycle.Observation
		want   lifecycle.Decision // only when to report
	}{
		"a new Job":           {"Kubernetes changes it soon.", ready(func(o *lifecycle.Observation) { starting(o); o.Creation.Result = lifecycle.Created }), lifecycle.Decision{Deferred: true}},
		"a Job of before":     {"Nobody waits for it.", ready(starting), lifecycle.Decision{}},
		"pods that never run": {"A thousand of them hold up others.", ready(func(o *lifecycle.Observation) { starting(o); o.Unready = true }), lifecycle.Decision{Stuck: true}},
		"its end": {"It is news.", ready(func(o *lifecycle.Observation) {
			starting(o)
			o.Unready, o.State.Condition = true, v1alpha1.Failed("It failed.")
		}), lifecycle.Decision{}},
		"in the queue":       {"Only its message changes.", ready(func(o *lifecycle.Observation) { o.Position = &queue.Position{Number: 2} }), lifecycle.Decision{Waiting: true}},
		"canceled in it":     {"It is an end.", ready(func(o *lifecycle.Observation) { o.Position, o.Suite.Spec.Cancel = &queue.Position{Number: 2}, true }), lifecycle.Decision{}},
		"at the front of it": {"Its Job comes first.", ready(func(o *lifecycle.Observation) { o.Position = &queue.Position{} }), lifecycle.Decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.o, t0)
			if got.Deferred != tc.want.Deferred || got.Waiting != tc.want.Waiting || got.Stuck != tc.want.Stuck {
				t.Errorf("%s Got deferred=%t waiting=%t stuck=%t.", tc.reason, got.Deferred, got.Waiting, got.Stuck)
			}
		})
	}
}

package suite_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// TestWhenToReport: what a status waits for, so that Jobs come first and a team that queues thousands delays only itself.
func TestWhenToReport(t *testing.T) {
	ready := func(change func(*suite.Observation)) suite.Observation {
		o := suite.Observation{Suite: aSuite("a", 0), Definition: defined(aTrigger(), anEnvironment())}
		change(&o)
		return o
	}
	starting := func(o *suite.Observation) { o.Job, o.State.Condition = aJob("a"), v1alpha1.Starting("The pod starts.") }
	for name, tc := range map[string]struct {
		reason string
		o      suite.Observation
		want   suite.Decision // only when to report
	}{
		"a new Job":           {"Kubernetes changes it soon.", ready(func(o *suite.Observation) { starting(o); o.Creation.Result = suite.Created }), suite.Decision{Deferred: true}},
		"a Job of before":     {"Nobody waits for it.", ready(starting), suite.Decision{}},
		"pods that never run": {"A thousand of them hold up others.", ready(func(o *suite.Observation) { starting(o); o.Unready = true }), suite.Decision{Stuck: true}},
		"its end": {"It is news.", ready(func(o *suite.Observation) {
			starting(o)
			o.Unready, o.State.Condition = true, v1alpha1.Failed("It failed.")
		}), suite.Decision{}},
		"in the queue":       {"Only its message changes.", ready(func(o *suite.Observation) { o.Position = &suite.Position{Number: 2} }), suite.Decision{Waiting: true}},
		"canceled in it":     {"It is an end.", ready(func(o *suite.Observation) { o.Position, o.Suite.Spec.Cancel = &suite.Position{Number: 2}, true }), suite.Decision{}},
		"at the front of it": {"Its Job comes first.", ready(func(o *suite.Observation) { o.Position = &suite.Position{} }), suite.Decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.o, t0)
			if got.Deferred != tc.want.Deferred || got.Waiting != tc.want.Waiting || got.Stuck != tc.want.Stuck {
				t.Errorf("%s Got deferred=%t waiting=%t stuck=%t.", tc.reason, got.Deferred, got.Waiting, got.Stuck)
			}
		})
	}
}

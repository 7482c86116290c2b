package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
)

// TestKeepFailedPods: a run that ended badly is kept with its pods as long as its Trigger said then.
func TestKeepFailedPods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		end    metav1.Condition
		ttl    time.Duration
		keep   time.Duration
		want   time.Duration // after its end
	}{
		"failed":          {"somebody looks", v1alpha1.Failed(""), time.Minute, time.Hour, time.Hour},
		"timed out":       {"somebody looks", v1alpha1.TimedOut(""), time.Minute, time.Hour, time.Hour},
		"an error":        {"somebody looks", v1alpha1.Error(""), time.Minute, time.Hour, time.Hour},
		"passed":          {"nobody looks", v1alpha1.Passed(""), time.Minute, time.Hour, time.Minute},
		"canceled":        {"nobody looks", v1alpha1.Canceled(""), time.Minute, time.Hour, time.Minute},
		"retention":       {"it is longer", v1alpha1.Failed(""), 2 * time.Hour, time.Hour, 2 * time.Hour},
		"nobody said how": {"retention decides", v1alpha1.Failed(""), time.Minute, 0, time.Minute},
		"without a Job":   {"there are no pods", v1alpha1.Error("no Trigger"), time.Minute, time.Hour, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s, trigger := aSuite("a", 0, withJob), aTrigger()
			if tc.reason == "there are no pods" {
				s.Status.JobName = ""
			}
			s.Spec.TTLAfterFinished = &metav1.Duration{Duration: tc.ttl}
			if tc.keep > 0 {
				trigger.Spec.KeepFailedPods = &metav1.Duration{Duration: tc.keep}
			}
			lifecycle.SetStatus(s, lifecycle.Observation{Suite: s, Definition: lifecycle.Definition{Trigger: trigger}}, lifecycle.Decision{Condition: tc.end}, t0)
			d := decide(lifecycle.Observation{Suite: s}, t0.Add(tc.want-time.Second)) // its Trigger was deleted meanwhile
			if d.Action != lifecycle.Report || d.RequeueAfter != time.Second {
				t.Errorf("%s: just before: %+v", tc.reason, d)
			}
			if d = decide(lifecycle.Observation{Suite: s}, t0.Add(tc.want)); d.Action != lifecycle.DeleteSuite {
				t.Errorf("%s: %+v", tc.reason, d)
			}
		})
	}
}

package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

func TestStartTimeIsTheEarliest(t *testing.T) {
	created, early, late := t0.Add(-time.Second), t0.Add(time.Second), t0.Add(9*time.Second)
	for name, tc := range map[string]struct{ recorded, started, want time.Time }{
		"nothing is recorded yet":                                {started: late, want: late},
		"a pod says at the end when they really started":         {recorded: late, started: early, want: early},
		"the first pod is gone, and a later one says when":       {recorded: early, started: late, want: early},
		"the clock of a later pod's node is behind":              {recorded: late, started: created.Add(-time.Hour), want: created},
		"no pod is left that says when":                          {recorded: early, want: early},
		"nothing says when, so it is when the Job was started":   {want: t0},
		"what is recorded is what the pod says, to the fraction": {recorded: early, started: early, want: early},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSuite("self", 1)
			if !tc.recorded.IsZero() {
				s.Status.StartTime = &metav1.Time{Time: tc.recorded}
			}
			passed := v1alpha1.Passed("Good.")
			j := startedJob("self", t0)
			j.CreationTimestamp = metav1.NewTime(created)
			o := lifecycle.Observation{Suite: s.DeepCopy(), Job: j, State: outcome.State{Condition: passed, Started: tc.started}}
			lifecycle.SetStatus(s, o, lifecycle.Decision{Condition: passed}, t0.Add(time.Minute))
			if got := s.Status.StartTime; got == nil || !got.Time.Equal(tc.want) {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

package suite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// setPodsKept records at the end of a run until when its pods are kept, so that a change of its Trigger deletes none earlier.
func setPodsKept(s *v1alpha1.Suite, o Observation, now time.Time) {
	if keep := o.Trigger.FailedPodsTTL(); keep > 0 && state.Of(s.State()).Bad && s.Status.JobName != "" {
		s.Status.PodsKeptUntil = new(metav1.NewTime(now.Add(keep)))
	}
}

// podsKeptFor is how long after its end a run is kept for its pods; 0: its retention decides.
func podsKeptFor(s *v1alpha1.Suite) time.Duration {
	until, end := s.Status.PodsKeptUntil, s.Status.CompletionTime
	if until == nil || end == nil {
		return 0
	}
	return until.Sub(end.Time)
}

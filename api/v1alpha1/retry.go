package v1alpha1

import "strconv"

// MaxRetries is the largest retry.onError, like the schema.
const MaxRetries = 5

// Retry says which runs without a result are repeated by themselves.
type Retry struct {
	// onError is how often a run is repeated that ended as Error because of the cluster: a pod was evicted, preempted or deleted,
	// its node is gone, its image could not be pulled, or what its tests reported was lost with it. From 0, the default, to 5:
	// if six attempts in a row end so, somebody has to look at the cluster. A run whose tests failed, timed out or were
	// canceled is never repeated.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	OnError int32 `json:"onError,omitempty"`
}

// RetriesOnError is how often a run of the Trigger may be repeated because of errors. The Trigger may be nil.
func (t *Trigger) RetriesOnError() int32 {
	if t == nil || t.Spec.Retry == nil {
		return 0
	}
	return min(t.Spec.Retry.OnError, MaxRetries)
}

// Retries counts the runs that ended as Error, and that this one repeats, directly or not. What nobody can read counts as the most, so that
// no run is repeated for ever.
func (s *Suite) Retries() int32 {
	text := s.Annotations[AnnotationRetries]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || n > MaxRetries {
		return MaxRetries
	}
	return int32(n)
}

// FollowsInconclusive reports whether one of the runs that this one repeats, directly or not, was Inconclusive. Earlier versions repeated
// no others, and wrote only which.
func (s *Suite) FollowsInconclusive() bool {
	onlyWhich := s.Annotations[AnnotationRepeats] != "" && s.Annotations[AnnotationRetries] == ""
	return onlyWhich || s.Annotations[AnnotationAfterInconclusive] != ""
}

// Retried reports whether the run ended as Error, and another one repeats it, whose result counts.
func (s *Suite) Retried() bool {
	return s.Finished() && s.State() == ReasonError && s.Status.RepeatedBy != ""
}

package suite

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// hasResult reports whether the tests of a run came to a result. A run that was superseded or canceled, or
// that could not be executed, has none.
func hasResult(s *v1alpha1.Suite) bool {
	switch s.State() {
	case v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut:
		return s.Finished()
	default:
		return false
	}
}

// RunsAgain reports whether a repeated notification starts another attempt, the desired one, beside an existing
// run of the same commit. It does if that run has no result, or will have none: its commit must be tested, and
// must not borrow the result of the run that superseded it. If there is a result, the Trigger decides. The
// stream is the known part of the existing run's.
//
// A client that got no answer sends the same notification again, with the same Idempotency-Key. That does not
// make it newer: if a newer deployment superseded its run meanwhile, it supersedes nothing.
func RunsAgain(existing, desired *v1alpha1.Suite, stream []*v1alpha1.Suite, policy v1alpha1.DuplicatePolicy) bool {
	superseded := existing.State() == v1alpha1.ReasonSuperseded || existing.Status.SupersededBy != "" || newerThan(existing, stream) != nil
	switch {
	case hasResult(existing):
		return policy == v1alpha1.DuplicatesRerunUnsuccessful && !existing.Passed()
	case superseded:
		return desired.Annotations[annotationIdempotencyKey] == "" || !sameKey(existing, desired)
	default:
		return existing.Finished() || existing.Restored() || existing.Spec.Cancel || existing.DeletionTimestamp != nil
	}
}

// NotifyAgain notes that the deployment of a run was notified again, and reports whether that is news: the run continues, and may
// be superseded. A client that repeats a notification for lack of an answer does not make it newer.
func NotifyAgain(existing, desired *v1alpha1.Suite) bool {
	at := desired.Received()
	if existing.Finished() || StreamKey(existing) == "" || !at.After(existing.LastNotified().Time) ||
		desired.Annotations[annotationIdempotencyKey] != "" && sameKey(existing, desired) {
		return false
	}
	existing.Status.NotifiedAgainAt = new(metav1.NewMicroTime(at.UTC()))
	return true
}

package suite

import "github.com/postflight-dev/postflight/api/v1alpha1"

// HasResult reports whether a run has ended and says something about its deployment. One that was
// superseded or canceled, or that could not be run, does not.
func HasResult(s *v1alpha1.Suite) bool {
	switch s.State() {
	case v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut:
		return s.Finished()
	default:
		return false
	}
}

// RunsAgain reports whether a notification of what a run tests already starts another attempt, the wanted
// one. It does where that run has no result, or will have none: its commit must be tested, and must not
// borrow the result of the run that superseded it. Where there is a result, the Trigger decides. The stream
// is that of the existing run, as far as it is known.
//
// A client that did not get its answer sends the same notification again, with the same Idempotency-Key. It
// is no newer for that: where a newer deployment superseded its run meanwhile, it supersedes nothing.
func RunsAgain(existing, wanted *v1alpha1.Suite, stream []*v1alpha1.Suite, policy v1alpha1.DuplicatePolicy) bool {
	superseded := existing.State() == v1alpha1.ReasonSuperseded || existing.Status.SupersededBy != "" || newerThan(existing, stream) != nil
	switch {
	case HasResult(existing):
		return policy == v1alpha1.DuplicatesRerunUnsuccessful && !existing.Passed()
	case superseded:
		return wanted.Annotations[annotationIdempotencyKey] == "" || !sameKey(existing, wanted)
	default:
		return existing.Finished() || existing.Spec.Cancel || existing.DeletionTimestamp != nil
	}
}

package suite

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Repetition is a notification of a commit that has a run, and what is known of that run.
type Repetition struct {
	Policy      v1alpha1.DuplicatePolicy
	MaxAge      time.Duration // of a result that still counts; 0: any
	ReceivedAt  time.Time
	Rerun       bool                  // the sender requests another attempt of a run with a result
	Differences []v1alpha1.Difference // between the deployments, as far as they are known
	Stream      []*v1alpha1.Suite     // the known part of the run's stream
	Environment []*v1alpha1.Suite     // of the run; only Deployment needs it
}

// RunsAgain reports whether a repeated notification starts another attempt, the desired one, beside an existing
// run of the same commit. It does if that run has no result, or will have none: its commit must be tested, and
// must not borrow the result of the run that superseded it. If there is a result, the Trigger decides, or the sender; but
// once superseding has begun, a result that the run still came to changes no answer.
//
// A client that got no answer sends the same notification again, with the same Idempotency-Key. That does not
// make it newer: if a newer deployment superseded its run meanwhile, it supersedes nothing.
func RunsAgain(existing, desired *v1alpha1.Suite, r Repetition) bool {
	superseded := existing.State() == v1alpha1.ReasonSuperseded || existing.Status.SupersededBy != "" || newerThan(existing, r.Stream) != nil
	switch {
	case hasResult(existing) && existing.Status.SupersededBy != "": // just before its end, another request may have started an attempt
		return !sameNotification(existing, desired) || resultRepeats(existing, desired, r)
	case hasResult(existing):
		return resultRepeats(existing, desired, r)
	case superseded:
		return !sameNotification(existing, desired)
	case existing.Finished() || existing.Restored() || existing.Spec.Cancel || existing.DeletionTimestamp != nil:
		return true
	default:
		return r.otherDeployment(existing) && !sameNotification(existing, desired)
	}
}

func resultRepeats(existing, desired *v1alpha1.Suite, r Repetition) bool {
	switch {
	case r.Policy == v1alpha1.DuplicatesRerunUnsuccessful && !existing.Passed(), r.tooOld(existing):
		return true
	case sameNotification(existing, desired):
		return false
	default:
		return r.Rerun || r.otherDeployment(existing)
	}
}

// otherDeployment reports whether the Trigger tests each deployment, and the run tests another one: something differs, or
// another commit was deployed since.
func (r Repetition) otherDeployment(s *v1alpha1.Suite) bool {
	return r.Policy == v1alpha1.DuplicatesDeployment &&
		(len(r.Differences) > 0 || NewerDeployment(s, r.Stream) != nil || NewerDeployment(s, r.Environment) != nil)
}

func (r Repetition) tooOld(s *v1alpha1.Suite) bool {
	end := s.Status.CompletionTime
	return r.MaxAge > 0 && (end == nil || r.ReceivedAt.Sub(end.Time) > r.MaxAge)
}

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

// sameNotification reports whether the desired Suite is of a notification that a client sent again for lack of an answer.
func sameNotification(existing, desired *v1alpha1.Suite) bool {
	return NotifiedBy(existing, desired.Annotations[annotationIdempotencyKey])
}

// NotifiedBy reports whether a run answers the notification with an Idempotency-Key: it was created for it, or continued when it
// was notified again by it.
func NotifiedBy(s *v1alpha1.Suite, key string) bool {
	return key != "" && (s.Annotations[annotationIdempotencyKey] == key || s.Status.NotifiedAgainBy == key)
}

// Differences are what distinguishes the deployment of a notification from that of an existing run of its commit, apart from
// input files.
func Differences(existing, desired *v1alpha1.Suite) (all []v1alpha1.Difference) {
	if existing.Spec.Deployment.URL != desired.Spec.Deployment.URL {
		all = append(all, v1alpha1.DifferentURL)
	}
	if !maps.Equal(existing.Spec.Variables, desired.Spec.Variables) {
		all = append(all, v1alpha1.DifferentVariables)
	}
	return all
}

// NoteDuplicate changes the status of a run that answers a repeated notification, and reports whether there is any news.
func NoteDuplicate(existing, desired *v1alpha1.Suite, differences []v1alpha1.Difference) bool {
	again, other := notifyAgain(existing, desired), noteOther(existing, desired, differences)
	return again || other
}

// notifyAgain makes a run that continues the newest of its stream again.
func notifyAgain(existing, desired *v1alpha1.Suite) bool {
	at := desired.Received()
	if existing.Finished() || StreamKey(existing) == "" || !at.After(existing.LastNotified().Time) || sameNotification(existing, desired) {
		return false
	}
	existing.Status.NotifiedAgainAt = new(metav1.NewMicroTime(at.UTC()))
	existing.Status.NotifiedAgainBy = desired.Annotations[annotationIdempotencyKey]
	return true
}

// NoteSuperseded changes the status of a run that another attempt replaces because a newer one of the stream supersedes it, and
// reports whether there is any news. A replica that has not seen the newer one must come to the same attempt.
func NoteSuperseded(existing *v1alpha1.Suite, stream []*v1alpha1.Suite) bool {
	newer := newerThan(existing, stream)
	if existing.Finished() || existing.Status.SupersededBy != "" || newer == nil {
		return false
	}
	existing.Status.SupersededBy = newer.Name
	return true
}

// noteOther notes the first of equal notifications of another deployment.
func noteOther(existing, desired *v1alpha1.Suite, differences []v1alpha1.Difference) bool {
	url, last := desired.Spec.Deployment.URL, existing.Status.AnsweredOther
	if len(differences) == 0 || last != nil && last.URL == url && slices.Equal(last.Differs, differences) {
		return false
	}
	existing.Status.AnsweredOther = &v1alpha1.OtherDeployment{
		NotifiedAt: metav1.NewTime(desired.Received().Time), URL: url, Differs: differences,
	}
	return true
}

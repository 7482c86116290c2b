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

	Rollout   bool // the workloads of the Environment made the notification, not a client
	Delivered bool // an event made the notification, which may be delivered again at any time
	Scheduled bool // the schedule of the Trigger made the notification: the commit is tested again, but never beside a run of it

	// RolledOutSince is when the commit came that was deployed before this rollout; zero: it is not known.
	RolledOutSince time.Time
}

// RunsAgain reports whether a repeated notification starts the desired attempt beside an existing run of the same commit.
// It does if that run will have no result of its own, because its commit must be tested. If it has one, the Trigger or the sender decides,
// but a result after superseding has begun changes no answer.
// A notification that a client sends again for lack of an answer has the same Idempotency-Key, and is not newer: it supersedes nothing.
func RunsAgain(existing, desired *v1alpha1.Suite, r Repetition) bool {
	superseded := existing.State() == v1alpha1.ReasonSuperseded || existing.Status.SupersededBy != "" || existing.Status.RepeatedBy != "" || newerThan(existing, r.Stream) != nil
	switch {
	case (r.Rollout || r.Scheduled || r.Delivered) && sameNotification(existing, desired): // it is made again until all Triggers are notified
		return false
	case r.Scheduled:
		return existing.Finished() || existing.Restored() || existing.DeletionTimestamp != nil
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

// otherDeployment reports whether each deployment is tested, and the run's differs or another commit was deployed since. Of rollouts that is
// known.
func (r Repetition) otherDeployment(s *v1alpha1.Suite) bool {
	if !r.RolledOutSince.IsZero() {
		return s.LastNotified().Time.Before(r.RolledOutSince)
	}
	return r.Policy == v1alpha1.DuplicatesDeployment &&
		(len(r.Differences) > 0 || NewerDeployment(s, r.Stream) != nil || NewerDeployment(s, r.Environment) != nil)
}

func (r Repetition) tooOld(s *v1alpha1.Suite) bool {
	end := s.Status.CompletionTime
	return r.MaxAge > 0 && (end == nil || r.ReceivedAt.Sub(end.Time) > r.MaxAge)
}

func hasResult(s *v1alpha1.Suite) bool {
	switch s.State() {
	case v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut:
		return s.Finished()
	default:
		return false
	}
}

// sameNotification reports whether a client sent the notification of the existing run again, for lack of an answer.
func sameNotification(existing, desired *v1alpha1.Suite) bool {
	return NotifiedBy(existing, desired.Annotations[AnnotationIdempotencyKey])
}

// NotifiedBy reports whether the notification with an Idempotency-Key created the run, or continued it.
func NotifiedBy(s *v1alpha1.Suite, key string) bool {
	return key != "" && (s.Annotations[AnnotationIdempotencyKey] == key || s.Status.NotifiedAgainBy == key)
}

// Differences compares the deployments of a notification and of an existing run of its commit, except for input files.
func Differences(existing, desired *v1alpha1.Suite) (all []v1alpha1.Difference) {
	if existing.Spec.Deployment.URL != desired.Spec.Deployment.URL {
		all = append(all, v1alpha1.DifferentURL)
	}
	if !maps.Equal(existing.Spec.Variables, desired.Spec.Variables) {
		all = append(all, v1alpha1.DifferentVariables)
	}
	return all
}

// SaidDifferences is Differences for a notification that may lack the URL, and that never has variables: what it does not say is no difference.
func SaidDifferences(existing, desired *v1alpha1.Suite) []v1alpha1.Difference {
	had, has := existing.Spec.Deployment.URL, desired.Spec.Deployment.URL
	if had == "" || has == "" || had == has {
		return nil
	}
	return []v1alpha1.Difference{v1alpha1.DifferentURL}
}

// NoteDuplicate changes the status of a run that answers a repeated notification, and reports whether it changed.
func NoteDuplicate(existing, desired *v1alpha1.Suite, differences []v1alpha1.Difference) bool {
	again, other := notifyAgain(existing, desired), noteOther(existing, desired, differences)
	return again || other
}

// NoteRedeployed records that the commit of a run that has ended was deployed again, after other runs of its Environment. It reports whether
// the status changed.
func NoteRedeployed(existing, desired *v1alpha1.Suite, environment []*v1alpha1.Suite) bool {
	at := desired.Received()
	if !existing.Finished() || sameNotification(existing, desired) || !at.After(lastDeployed(existing)) || DeployedSince(existing, lastDeployed(existing), environment) == nil {
		return false
	}
	existing.Status.AnsweredAgainAt = new(metav1.NewMicroTime(at.UTC()))
	return true
}

// lastDeployed is when the commit of a run was last notified, also by a notification that its result answered.
func lastDeployed(s *v1alpha1.Suite) time.Time {
	last := s.LastNotified().Time
	if again := s.Status.AnsweredAgainAt; again != nil && again.After(last) {
		return again.Time
	}
	return last
}

// notifyAgain makes a run that has not ended the newest of its stream again.
func notifyAgain(existing, desired *v1alpha1.Suite) bool {
	at := desired.Received()
	if existing.Finished() || StreamKey(existing) == "" || !at.After(existing.LastNotified().Time) || sameNotification(existing, desired) {
		return false
	}
	existing.Status.NotifiedAgainAt = new(metav1.NewMicroTime(at.UTC()))
	existing.Status.NotifiedAgainBy = desired.Annotations[AnnotationIdempotencyKey]
	return true
}

// NoteSuperseded records the newer run of the stream, so that a replica that has not seen it creates the same attempt. It reports whether
// the status changed.
func NoteSuperseded(existing *v1alpha1.Suite, stream []*v1alpha1.Suite) bool {
	newer := newerThan(existing, stream)
	if existing.Finished() || existing.Status.SupersededBy != "" || newer == nil {
		return false
	}
	existing.Status.SupersededBy = newer.Name
	return true
}

func noteOther(existing, desired *v1alpha1.Suite, differences []v1alpha1.Difference) bool {
	url, last := desired.Spec.Deployment.URL, existing.Status.AnsweredOther
	if len(differences) == 0 || last != nil && last.URL == url && slices.Equal(last.Differs, differences) {
		return false
	}
	existing.Status.AnsweredOther = &v1alpha1.OtherDeployment{NotifiedAt: metav1.NewTime(desired.Received().Time), URL: url, Differs: differences}
	return true
}

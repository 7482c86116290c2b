package v1alpha1

import "strings"

// Origin is who asked for a run.
//
// +kubebuilder:validation:Enum=Notification;Rollout;Schedule;Event;Rerun;Retry;Repetition;Manual
type Origin string

// The origins.
const (
	OriginNotification Origin = "Notification" // a client, such as a CI pipeline
	OriginRollout      Origin = "Rollout"      // the workloads of the Environment
	OriginSchedule     Origin = "Schedule"     // the schedule of the Trigger
	OriginEvent        Origin = "Event"        // an event of a code host or a GitOps controller
	OriginRerun        Origin = "Rerun"        // a person, also by a button of the code host
	OriginRetry        Origin = "Retry"        // the manager, after an Error
	OriginRepetition   Origin = "Repetition"   // the manager, after an Inconclusive run
	OriginManual       Origin = "Manual"       // a person or a tool that created the Suite itself
)

// RolloutKeyPrefix begins the Idempotency-Key of a rollout.
const RolloutKeyPrefix = "rollout/"

// Origin returns who asked for the run. Suites of earlier versions lack spec.origin, and have only annotations.
func (s *Suite) Origin() Origin {
	has := func(annotation string) bool { return s.Annotations[annotation] != "" }
	switch {
	case s.Spec.Origin != "":
		return s.Spec.Origin
	case has(AnnotationRepeats) && has(AnnotationRetries) && !has(AnnotationAfterInconclusive):
		return OriginRetry
	case has(AnnotationRepeats):
		return OriginRepetition
	case has(AnnotationRerunBy), s.Spec.OnlyFailedOf != nil:
		return OriginRerun
	case !s.ScheduledFor().IsZero():
		return OriginSchedule
	case strings.HasPrefix(s.Annotations[AnnotationIdempotencyKey], RolloutKeyPrefix):
		return OriginRollout
	case has(AnnotationDeployedAt):
		return OriginEvent
	case has(AnnotationRequestID):
		return OriginNotification
	default:
		return OriginManual
	}
}

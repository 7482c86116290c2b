package v1alpha1

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ConditionSucceeded is the state of a Suite: Unknown until the run has ended, True once it
	// passed, False once it ended in any other way. A finished state never changes.
	ConditionSucceeded = "Succeeded"

	// ConditionReported is True once the outcome of a Suite was posted to the code host. It is False if it was not, for
	// a reason that its message gives, and Unknown until the run ends.
	ConditionReported = "Reported"

	// ConditionNotified is True once every receiver has what it wants to know about a Suite. It is False if one lacks
	// it, for a reason that its message gives, and Unknown until the run ends. Suites without receivers lack it.
	ConditionNotified = "Notified"

	// ConditionReconciling is True on a Suite that has not ended, and absent otherwise. It and
	// ConditionStalled follow kstatus, which Argo CD, Flux and others use.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True on a Suite that ended and did not pass, and on a Trigger that cannot match.
	ConditionStalled = "Stalled"

	// ConditionInputsReady is True once the files that a Suite needs were found in the store, and False while
	// the store is unavailable. Suites without inputs lack it.
	ConditionInputsReady = "InputsReady"

	// ConditionJobAccepted is False while the API server does not accept the Job of a run. Runs whose Job was
	// accepted lack it.
	ConditionJobAccepted = "JobAccepted"

	// ConditionObjectsFound is False while something that a run needs is missing: its Trigger, its Environment,
	// or its Job while the Job's pods exist. Runs that need nothing more lack it.
	ConditionObjectsFound = "ObjectsFound"

	// ConditionOnHold is True while the Environment of a queued Suite is on hold or has not settled, and False from then on. Other
	// Suites lack it.
	ConditionOnHold = "OnHold"

	// ConditionDeploymentReady is False while the workloads of a Suite's Environment have not rolled out what was notified, and
	// True from then on. Runs that did not wait for that lack it.
	ConditionDeploymentReady = "DeploymentReady"

	// ConditionStarted is False where the tests of a run did not start in time, or cannot start, and the run is
	// stopped for that. Other runs lack it.
	ConditionStarted = "Started"

	// ConditionResultsCollected is True once the files of a run's tests were uploaded and its reports read, and False
	// where some were not, for a reason that its message gives. Runs without results lack it.
	ConditionResultsCollected = "ResultsCollected"

	// ConditionArchived is True once the record and the logs of a finished run are in the object store; its message
	// names logs that could not be saved. It is False while the store is unavailable. Without a store, runs lack it.
	ConditionArchived = "Archived"

	// ConditionReady is True on a Team, an APIKey, a Trigger or an Environment with workloads that works. If not, its reason says why.
	ConditionReady = "Ready"

	// ReasonTooLarge is the reason of Ready on an object that takes more memory than the manager has for it, and has no effect.
	ReasonTooLarge = "TooLarge"

	// ReasonWarning is the reason of Ready on a Trigger that works, but may not do what its author wants: the message says why.
	ReasonWarning = "Warning"
)

// The reasons of ConditionSucceeded: the states of a run.
const (
	ReasonQueued       = "Queued"
	ReasonStarting     = "Starting"
	ReasonRunning      = "Running"
	ReasonPassed       = "Passed"
	ReasonFailed       = "Failed"
	ReasonTimedOut     = "TimedOut"
	ReasonInconclusive = "Inconclusive"
	ReasonCanceled     = "Canceled"
	ReasonSuperseded   = "Superseded"
	ReasonError        = "Error"
)

// States are all states of a run, in the order in which a run may have them. What is known of each is in internal/core/state.
func States() []string {
	return append([]string{ReasonQueued, ReasonStarting, ReasonRunning}, Ends()...)
}

// Ends are the states in which a run may end.
func Ends() []string {
	return []string{ReasonPassed, ReasonFailed, ReasonTimedOut, ReasonInconclusive, ReasonCanceled, ReasonSuperseded, ReasonError}
}

// RunEvent is something that happens to a run: it is queued, its tests start, or it ends in one of its states.
//
// +kubebuilder:validation:Enum=Queued;Started;Passed;Failed;TimedOut;Inconclusive;Canceled;Superseded;Error
type RunEvent string

// The events that are not states. An end has the name of its state.
const (
	EventQueued  RunEvent = "Queued"
	EventStarted RunEvent = "Started"
)

// maxMessageBytes is the bound the API server sets on the message of a condition.
const maxMessageBytes = 32768

// Queued is a run that waits to start.
func Queued(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionUnknown, ReasonQueued, message)
}

// Starting is a run whose Job exists, while no container of the tests runs yet.
func Starting(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionUnknown, ReasonStarting, message)
}

// Running is a run whose tests run, or have run and are being stopped.
func Running(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionUnknown, ReasonRunning, message)
}

// Passed is a run whose Job completed, and whose reports show what its Trigger requires.
func Passed(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionTrue, ReasonPassed, message)
}

// Failed is a run whose tests failed.
func Failed(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionFalse, ReasonFailed, message)
}

// TimedOut is a run that took longer than its Trigger allows.
func TimedOut(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionFalse, ReasonTimedOut, message)
}

// Inconclusive is a run whose tests ran while what they tested changed. They say nothing about the deployment.
func Inconclusive(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionFalse, ReasonInconclusive, message)
}

// Canceled is a run that was stopped by a person.
func Canceled(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionFalse, ReasonCanceled, message)
}

// Superseded is a run that a newer one of its stream replaced.
func Superseded(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionFalse, ReasonSuperseded, message)
}

// Error is a run that Postflight or Kubernetes could not complete. It says nothing about the tests.
func Error(message string) metav1.Condition {
	return condition(ConditionSucceeded, metav1.ConditionFalse, ReasonError, message)
}

// ReasonInputsFound is the reason of ConditionInputsReady that is True.
const ReasonInputsFound = "Found"

// ReasonStoreUnavailable is the reason of ConditionInputsReady and ConditionArchived that are False because the store
// cannot be used.
const ReasonStoreUnavailable = "StoreUnavailable"

// InputsFound are input files that are recorded in the status of their Suite.
func InputsFound(message string) metav1.Condition {
	return condition(ConditionInputsReady, metav1.ConditionTrue, ReasonInputsFound, message)
}

// StoreUnavailable is why input files could not be looked up.
func StoreUnavailable(message string) metav1.Condition {
	return condition(ConditionInputsReady, metav1.ConditionFalse, ReasonStoreUnavailable, message)
}

// The reasons of ConditionJobAccepted.
const (
	ReasonJobRefused = "Refused" // at the last attempt; until the next one, other runs may overtake
	ReasonJobWaiting = "Waiting" // until it may try again
)

// JobNotAccepted is a Job that the API server did not accept at the last attempt.
func JobNotAccepted(reason, message string) metav1.Condition {
	return condition(ConditionJobAccepted, metav1.ConditionFalse, reason, message)
}

// The reasons of ConditionStarted.
const (
	ReasonNotStarted     = "NotStarted"
	ReasonImageNotPulled = "ImageNotPulled" // although its registry may have it
)

// NotStarted is why a run whose tests never ran is stopped.
func NotStarted(reason, message string) metav1.Condition {
	return condition(ConditionStarted, metav1.ConditionFalse, reason, message)
}

// ReasonMissing is the reason of ConditionObjectsFound.
const ReasonMissing = "Missing"

// ObjectMissing is an object that does not exist.
func ObjectMissing(message string) metav1.Condition {
	return condition(ConditionObjectsFound, metav1.ConditionFalse, ReasonMissing, message)
}

// The reasons of ConditionResultsCollected.
const (
	ReasonResultsCollected   = "Collected"
	ReasonResultsIncomplete  = "Incomplete"
	ReasonStoreNotConfigured = "StoreNotConfigured"
)

// ResultsCollected are complete results.
func ResultsCollected(message string) metav1.Condition {
	return condition(ConditionResultsCollected, metav1.ConditionTrue, ReasonResultsCollected, message)
}

// ResultsIncomplete are results that have lost something.
func ResultsIncomplete(message string) metav1.Condition {
	return condition(ConditionResultsCollected, metav1.ConditionFalse, ReasonResultsIncomplete, message)
}

// ResultsNotKept are results that nothing keeps, because no store is configured.
func ResultsNotKept(message string) metav1.Condition {
	return condition(ConditionResultsCollected, metav1.ConditionFalse, ReasonStoreNotConfigured, message)
}

// The reasons of ConditionArchived, beside ReasonStoreUnavailable.
const (
	ReasonSaved           = "Saved"
	ReasonIncomplete      = "Incomplete"      // the record is saved, and logs are lost
	ReasonLogsUnavailable = "LogsUnavailable" // they are read again for a while
)

// Saved is a run whose record and logs are in the object store.
func Saved() metav1.Condition {
	return condition(ConditionArchived, metav1.ConditionTrue, ReasonSaved, "The record and the logs are in the object store.")
}

// Incomplete is a run whose record is in the object store, without all logs.
func Incomplete(message string) metav1.Condition {
	return condition(ConditionArchived, metav1.ConditionTrue, ReasonIncomplete, message)
}

// NotArchived is a run that is not in the object store yet.
func NotArchived(reason, message string) metav1.Condition {
	return condition(ConditionArchived, metav1.ConditionFalse, reason, message)
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	if len(message) > maxMessageBytes {
		message = strings.ToValidUTF8(message[:maxMessageBytes], "")
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// Succeeded is the condition with the state of the run; empty before the manager saw the Suite.
func (s *Suite) Succeeded() metav1.Condition {
	if c := meta.FindStatusCondition(s.Status.Conditions, ConditionSucceeded); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// State is the reason of the condition Succeeded; empty before the manager saw the Suite.
func (s *Suite) State() string {
	if c := meta.FindStatusCondition(s.Status.Conditions, ConditionSucceeded); c != nil {
		return c.Reason
	}
	return ""
}

// Finished reports whether the run has ended, in whatever state.
func (s *Suite) Finished() bool {
	status := s.Succeeded().Status
	return status == metav1.ConditionTrue || status == metav1.ConditionFalse
}

// FailedTestsOf names the run whose failed tests this one repeats, and only these; "" for others.
func (s *Suite) FailedTestsOf() string {
	if s.Spec.OnlyFailedOf == nil {
		return ""
	}
	return s.Spec.OnlyFailedOf.Name
}

// Archived reports whether the record of the run is in the object store.
func (s *Suite) Archived() bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, ConditionArchived)
}

// ReadyWarning returns the message of an object that is Ready with a warning, or "".
func ReadyWarning(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, ConditionReady); c != nil && c.Status == metav1.ConditionTrue && c.Reason == ReasonWarning {
		return c.Message
	}
	return ""
}

// ReadyProblem returns why an object is not Ready, or "" if it is Ready, or has no such condition yet. A condition may lack a message.
func ReadyProblem(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, ConditionReady); c != nil && c.Status == metav1.ConditionFalse {
		return cmp.Or(c.Message, c.Reason)
	}
	return ""
}

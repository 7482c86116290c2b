package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of ConditionOnHold.
const (
	ReasonHeld     = "Held"
	ReasonReleased = "Released" // by a person, or because the hold is over, or the Environment has settled
)

// Held is a run that waits for the end of a hold, or for its Environment to settle.
func Held() metav1.Condition {
	return condition(ConditionOnHold, metav1.ConditionTrue, ReasonHeld, "The Environment is on hold, or has not settled.")
}

// Released is a run that does not wait for its Environment any more.
func Released() metav1.Condition {
	return condition(ConditionOnHold, metav1.ConditionFalse, ReasonReleased,
		"The Environment was on hold, or had not settled. The metrics count from then on.")
}

// OnHold reports whether the run waits for the end of a hold, or for its Environment to settle.
func (s *Suite) OnHold() bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, ConditionOnHold)
}

// The reasons of ConditionDeploymentReady.
const (
	ReasonNotRolledOut = "NotRolledOut"
	ReasonRolledOut    = "RolledOut"
)

// NotRolledOut is a run that waits for its version; the message says how far that is.
func NotRolledOut(message string) metav1.Condition {
	return condition(ConditionDeploymentReady, metav1.ConditionFalse, ReasonNotRolledOut, message)
}

// RolledOut is a run that waited for its version.
func RolledOut() metav1.Condition {
	return condition(ConditionDeploymentReady, metav1.ConditionTrue, ReasonRolledOut,
		"The workloads have what was notified. The metrics count from then on.")
}

// AwaitsDeployment reports whether the run waits for its version.
func (s *Suite) AwaitsDeployment() bool {
	return meta.IsStatusConditionFalse(s.Status.Conditions, ConditionDeploymentReady)
}

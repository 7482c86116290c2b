package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxReceiptAge is the longest possible time between the receipt of a notification and the creation of its
// Suite: a notification is held for up to 55 s, and 10 s are for matching and a slow API server.
const MaxReceiptAge = 65 * time.Second

// MaxAttempt bounds the attempts of one run, like the schema.
const MaxAttempt = 1_000_000

// Received is when the notification of the Suite was received, clamped by the API server's clock, because a replica's clock may be
// wrong, and users may write any time. It is no later than the second in which the Suite was created, and no earlier than
// MaxReceiptAge before it. Without receivedAt it is the end of that second.
func (s *Suite) Received() metav1.MicroTime {
	if s.CreationTimestamp.IsZero() { // not stored yet
		return s.unclamped()
	}
	latest := s.createdBy()
	if s.Spec.ReceivedAt == nil || s.Spec.ReceivedAt.After(latest.Time) {
		return latest
	}
	if earliest := s.CreationTimestamp.Add(-MaxReceiptAge); s.Spec.ReceivedAt.Time.Before(earliest) {
		return metav1.NewMicroTime(earliest)
	}
	return *s.Spec.ReceivedAt
}

// DeployedAt is when the deployment happened that the run tests, as far as its request said: no later than the second in which the Suite
// was created. What was restored from a backup keeps its time, so that it is older than what happened since.
func (s *Suite) DeployedAt() metav1.MicroTime {
	at := s.Received()
	if s.Restored() {
		at = s.unclamped()
	}
	latest := at
	if !s.CreationTimestamp.IsZero() {
		latest = s.createdBy()
	}
	if d := s.Spec.DeployedAt; d != nil && !d.After(latest.Time) {
		return *d
	}
	return at
}

// ReceivedTimes are the two times that order a queue, the more important one first. A repeated notification does not send its run
// back to the end of the queue.
func (s *Suite) ReceivedTimes() (received, unclamped metav1.MicroTime) {
	return s.Received(), s.unclamped()
}

func (s *Suite) unclamped() metav1.MicroTime {
	if s.Spec.ReceivedAt != nil {
		return *s.Spec.ReceivedAt
	}
	return s.createdBy()
}

// createdBy is the last moment at which the Suite can have been created: the API server stores whole seconds.
func (s *Suite) createdBy() metav1.MicroTime {
	return metav1.NewMicroTime(s.CreationTimestamp.Add(time.Second - time.Microsecond))
}

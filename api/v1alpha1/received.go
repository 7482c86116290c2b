package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxReceiptAge is how long before the creation of a Suite its notification can have been received: the
// longest time for which a notification is held, 55 s, and 10 s for matching and a slow API server.
const MaxReceiptAge = 65 * time.Second

// MaxAttempt bounds the attempts of one run. It is the bound of the schema.
const MaxAttempt = 1_000_000

// Received is when the notification of the Suite was received, as far as the API server's clock allows.
// A replica's clock, or a person, may say anything, and must neither make a later deployment look old
// nor an older one look new: the time is no later than the second in which the Suite was created, and
// no earlier than MaxReceiptAge before it. Without a time it is the end of that second.
func (s *Suite) Received() metav1.MicroTime {
	if s.CreationTimestamp.IsZero() { // not stored yet
		return s.saidReceived()
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

// CompareReceived orders Suites by when they were received: by Received and, where that is the same
// because the API server's clock allowed no more, by what they say themselves.
func (s *Suite) CompareReceived(other *Suite) int {
	if c := s.Received().Compare(other.Received().Time); c != 0 {
		return c
	}
	return s.saidReceived().Compare(other.saidReceived().Time)
}

func (s *Suite) saidReceived() metav1.MicroTime {
	if s.Spec.ReceivedAt != nil {
		return *s.Spec.ReceivedAt
	}
	return s.createdBy()
}

// createdBy is the last moment at which the Suite can have been created, as the API server stores whole
// seconds.
func (s *Suite) createdBy() metav1.MicroTime {
	return metav1.NewMicroTime(s.CreationTimestamp.Add(time.Second - time.Microsecond))
}

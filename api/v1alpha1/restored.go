package v1alpha1

import "time"

// maxUnlabeledAge is how much older than its Suite a notification may be before the Suite counts as restored. It is
// longer than a wrong time zone can make it.
const maxUnlabeledAge = 24 * time.Hour

// Restored reports whether the Suite came from a backup: the API server sets a new time of creation, and receivedAt stays. A label
// lowers the bound, but does not count on a Suite as old as its notification, because Velero also labels existing objects.
func (s *Suite) Restored() bool {
	if s.CreationTimestamp.IsZero() { // not stored yet
		return false
	}
	labeled := s.Labels[LabelRestored] != "" || s.Labels[LabelRestoredByVelero] != ""
	if s.Spec.ReceivedAt == nil {
		return labeled
	}
	age := s.CreationTimestamp.Sub(s.Spec.ReceivedAt.Time)
	return age > maxUnlabeledAge || labeled && age > MaxReceiptAge
}

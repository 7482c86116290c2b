package v1alpha1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRestored(t *testing.T) {
	created := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	velero, own := map[string]string{LabelRestoredByVelero: "nightly"}, map[string]string{LabelRestored: "true"}
	for name, tc := range map[string]struct {
		labels   map[string]string
		received time.Duration // before the creation
		byHand   bool          // without receivedAt
		want     bool
	}{
		"a run":                                  {received: time.Second},
		"a run that was held":                    {received: time.Minute},
		"a run of a replica without the time":    {received: 14 * time.Hour},
		"a run that people created":              {byHand: true},
		"a run that Velero restored":             {labels: velero, received: 5 * time.Minute, want: true},
		"a run that people restored":             {labels: own, received: 5 * time.Minute, want: true},
		"a run that Velero found":                {labels: velero, received: time.Second},
		"a restored run that people had created": {labels: velero, byHand: true, want: true},
		"a restored run without a label":         {received: 25 * time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Suite{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, CreationTimestamp: metav1.NewTime(created)}}
			if !tc.byHand {
				s.Spec.ReceivedAt = new(metav1.NewMicroTime(created.Add(-tc.received)))
			}
			if got := s.Restored(); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
			if s.CreationTimestamp = (metav1.Time{}); s.Restored() {
				t.Error("a Suite that is not stored yet is restored")
			}
		})
	}
}

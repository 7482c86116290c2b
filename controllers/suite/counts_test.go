package suite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestCountOfSuites(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	suite := func(namespace string, minutesAgo int, c metav1.Condition) v1alpha1.Suite {
		created := metav1.NewTime(noon.Add(-time.Duration(minutesAgo) * time.Minute))
		s := v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, CreationTimestamp: created}}
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(created.Time))
		s.Status.Conditions = []metav1.Condition{c}
		return s
	}
	got := count([]v1alpha1.Suite{
		suite("a", 60, v1alpha1.Passed("")), suite("a", 50, v1alpha1.Running("")), suite("a", 40, v1alpha1.Queued("")),
		suite("a", 30, v1alpha1.Queued("")), suite("b", 20, v1alpha1.Queued("")),
	})
	if !got.oldest.Equal(noon.Add(-40 * time.Minute)) {
		t.Errorf("the oldest queued one is of %s", got.oldest)
	}
	if diff := cmp.Diff(map[string]int{"Passed": 1, "Running": 1, "Queued": 3}, got.byState); diff != "" {
		t.Errorf("by state (-want +got):\n%s", diff)
	}
	want := map[ownerState]int{{"a", "Running"}: 1, {"a", "Queued"}: 2, {"b", "Queued"}: 1}
	if diff := cmp.Diff(want, got.unfinished, cmp.AllowUnexported(ownerState{})); diff != "" {
		t.Errorf("by namespace (-want +got):\n%s", diff)
	}
	if oldest := count(nil).oldest; !oldest.IsZero() {
		t.Errorf("without a queue, the oldest is of %s", oldest)
	}
}

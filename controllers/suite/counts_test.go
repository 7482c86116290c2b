package suite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestCountOfSuites(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	suite := func(namespace string, minutesAgo int, c metav1.Condition) *v1alpha1.Suite {
		created := metav1.NewTime(noon.Add(-time.Duration(minutesAgo) * time.Minute))
		s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, CreationTimestamp: created}}
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(created.Time))
		s.Status.Conditions = []metav1.Condition{c}
		return s
	}
	held, released := suite("a", 90, v1alpha1.Queued("")), suite("a", 80, v1alpha1.Queued(""))
	meta.SetStatusCondition(&held.Status.Conditions, v1alpha1.Held())
	end := v1alpha1.Released()
	end.LastTransitionTime = metav1.NewTime(noon.Add(-10 * time.Minute))
	meta.SetStatusCondition(&released.Status.Conditions, end)
	got := count([]*v1alpha1.Suite{
		held, released,
		suite("a", 60, v1alpha1.Passed("")), suite("a", 50, v1alpha1.Running("")), suite("a", 40, v1alpha1.Queued("")),
		suite("a", 30, v1alpha1.Queued("")), suite("b", 20, v1alpha1.Queued("")),
	})
	if !got.oldest.Equal(noon.Add(-40 * time.Minute)) {
		t.Errorf("the oldest queued one is of %s", got.oldest)
	}
	if diff := cmp.Diff(map[string]int{"Passed": 1, "Running": 1, "Queued": 5}, got.byState); diff != "" {
		t.Errorf("by state (-want +got):\n%s", diff)
	}
	want := map[ownerState]int{{"a", "Running"}: 1, {"a", "Queued"}: 4, {"b", "Queued"}: 1}
	if diff := cmp.Diff(want, got.unfinished, cmp.AllowUnexported(ownerState{})); diff != "" {
		t.Errorf("by namespace (-want +got):\n%s", diff)
	}
	if oldest := count([]*v1alpha1.Suite{held}).oldest; !oldest.IsZero() {
		t.Errorf("with all on hold, the oldest is of %s", oldest)
	}
	if oldest := count([]*v1alpha1.Suite{held, released}).oldest; !oldest.Equal(end.LastTransitionTime.Time) {
		t.Errorf("after a hold, the oldest is of %s, want its end", oldest)
	}
	for name, tc := range map[string]struct {
		suite *v1alpha1.Suite
		want  time.Duration
	}{"never held": {suite("a", 40, v1alpha1.Queued("")), 40 * time.Minute}, "held": {held, 0}, "released": {released, 10 * time.Minute}} {
		if got := waited(tc.suite, noon); got != tc.want.Seconds() {
			t.Errorf("%s: it waited for %v s, want %s", name, got, tc.want)
		}
	}
	if oldest := count(nil).oldest; !oldest.IsZero() {
		t.Errorf("without a queue, the oldest is of %s", oldest)
	}
}

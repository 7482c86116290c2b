package archive

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestBacklogHoldsWhatIsNotArchived: a run leaves it when it is archived, and not only when it is deleted. The metric of
// what is left, and the turns of the teams, depend on it.
func TestBacklogHoldsWhatIsNotArchived(t *testing.T) {
	with := func(conditions ...metav1.Condition) *v1alpha1.Suite {
		s := runWith("one", nil)
		s.Status.Conditions = conditions
		return s
	}
	ended, archived := v1alpha1.Passed("Good."), metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSaved}
	b := newBacklog()
	h, q := b.handler(), workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer q.ShutDown()
	for _, step := range []struct {
		what        string
		before, now *v1alpha1.Suite
		want        float64
	}{
		{"it ends", with(), with(ended), 1},
		{"something else of it changes", with(ended), with(ended), 1},
		{"it is archived", with(ended), with(ended, archived), 0},
		{"it changes once more", with(ended, archived), with(ended, archived), 0},
	} {
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: step.before, ObjectNew: step.now}, q)
		if got := b.len(); got != step.want {
			t.Errorf("%s: %.0f are not archived, want %.0f", step.what, got, step.want)
		}
	}
	if q.Len() != 1 {
		t.Errorf("it was enqueued %d times", q.Len())
	}
}

package trigger

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// TestWhatWaits: only counts wait. A Trigger that tells a chat does not: its status is all that remembers a run that failed
// and is deleted soon.
func TestWhatWaits(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	r := &Reconciler{pace: reconcile.NewPace(clock)}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Trigger)
		want   time.Duration
	}{
		"counts":     {func(*v1alpha1.Trigger) {}, countDelay},
		"a state":    {func(t *v1alpha1.Trigger) { t.Status.ObservedGeneration = 2 }, 0},
		"an outcome": {func(t *v1alpha1.Trigger) { t.Spec.Notify = &v1alpha1.Notify{} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			was := &v1alpha1.Trigger{}
			was.Name = name
			is := was.DeepCopy()
			tc.change(is)
			r.pace.Wrote(client.ObjectKeyFromObject(is))
			if got := r.wait(was, is, is.Spec.Notify != nil); got != tc.want {
				t.Errorf("it waits for %s, want %s", got, tc.want)
			}
		})
	}
}

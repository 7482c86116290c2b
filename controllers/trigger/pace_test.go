package trigger

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestCountPace: an hour in which runs come and go all the time costs about two writes a minute, and the first write
// after a quiet time is not late.
func TestCountPace(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	p := newCountPace(clock)
	trigger := types.NamespacedName{Name: "smoke"}
	writes := 0
	for range 3600 {
		if p.wait(trigger) == 0 {
			p.wrote(trigger)
			writes++
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	if writes < 110 || writes > 130 {
		t.Errorf("%d writes in an hour", writes)
	}
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	if wait := p.wait(trigger); wait != 0 {
		t.Errorf("the next write waits for %s", wait)
	}
	p.wrote(trigger)
	if wait := p.wait(trigger); wait != countDelay {
		t.Errorf("after a quiet time the pause is %s, want %s", wait, countDelay)
	}
	p.forget(trigger)
	if wait := p.wait(trigger); wait != 0 {
		t.Errorf("another Trigger of the name waits for %s", wait)
	}
}

// TestWhatWaits: only counts wait. A Trigger that tells a chat does not: its status is all that remembers a run that failed
// and is deleted soon.
func TestWhatWaits(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	r := &Reconciler{pace: newCountPace(clock)}
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
			r.pace.wrote(client.ObjectKeyFromObject(is))
			if got := r.wait(was, is); got != tc.want {
				t.Errorf("it waits for %s, want %s", got, tc.want)
			}
		})
	}
}

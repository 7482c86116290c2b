package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

// TestPace: an hour in which something changes all the time costs about two writes a minute, and the first write
// after a quiet time is not late.
func TestPace(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	p := NewPace(clock)
	object := types.NamespacedName{Name: "smoke"}
	writes := 0
	for range 3600 {
		if p.Wait(object) == 0 {
			p.Wrote(object)
			writes++
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	if writes < 110 || writes > 130 {
		t.Errorf("%d writes in an hour", writes)
	}
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	if wait := p.Wait(object); wait != 0 {
		t.Errorf("the next write waits for %s", wait)
	}
	p.Wrote(object)
	if wait := p.Wait(object); wait != firstPause {
		t.Errorf("after a quiet time the pause is %s, want %s", wait, firstPause)
	}
	p.Forget(object)
	if wait := p.Wait(object); wait != 0 {
		t.Errorf("another object of the name waits for %s", wait)
	}
}

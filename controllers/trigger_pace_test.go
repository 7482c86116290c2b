package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
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

package suite

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

func runOfTeam(namespace string, i int) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}}
}

// TestStatusSlots: no more than statusWriters have a slot, each that waits gets one, and a team with one run does not wait
// for all runs of another.
func TestStatusSlots(t *testing.T) {
	statusSlots := newStatusSlots()
	for i := range statusWriters {
		if !statusSlots.take(runOfTeam("busy", i)) {
			t.Fatalf("run %d has no slot", i)
		}
	}
	const last = statusWriters + 100
	for i := statusWriters; i < last; i++ {
		for range 2 { // as a run that is reconciled again while it waits
			if statusSlots.take(runOfTeam("busy", i)) {
				t.Fatalf("run %d has a slot beside %d others", i, statusWriters)
			}
		}
	}
	if statusSlots.take(runOfTeam("other", 0)) {
		t.Fatal("the other team's run has a slot beside as many as may have one")
	}
	if next, more := statusSlots.leave(runOfTeam("other", 0)); more {
		t.Fatalf("%s has the slot of a run that had none", next)
	}
	var order []ctrl.Request
	for run := runOfTeam("busy", 0); ; {
		next, more := statusSlots.leave(run)
		if !more {
			break
		}
		if !statusSlots.take(next) {
			t.Fatalf("%s was given a slot, and may not take it", next)
		}
		order, run = append(order, next), next
	}
	if len(order) != 101 || order[1] != runOfTeam("other", 0) || order[100] != runOfTeam("busy", last-1) {
		t.Errorf("%d runs got a slot, the second was %s, the last %s", len(order), order[1], order[len(order)-1])
	}
}

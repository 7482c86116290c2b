package deployed

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestRooms: the watches of a namespace share its room, another namespace has its own, and nothing is counted of what is gone.
func TestRooms(t *testing.T) {
	r := newRooms()
	deployments, rollouts, others := r.enter("attacker"), r.enter("attacker"), r.enter("acme")
	takes := func(want bool, a *account, uid types.UID, bytes int64) {
		t.Helper()
		if fits := a.hasFor(bytes); fits && !want {
			t.Errorf("%s: it has room for %d", uid, bytes)
		}
		if got := a.take(uid, bytes); got != want {
			t.Errorf("%s takes %d: %t", uid, bytes, got)
		}
	}
	takes(true, deployments, "a", roomBytes/2)
	takes(true, deployments, "a", roomBytes/2) // it was changed
	takes(true, rollouts, "b", roomBytes/2)
	takes(false, rollouts, "c", 1)
	takes(true, others, "d", roomBytes)
	takes(false, deployments, "a", roomBytes/2+1) // it has grown, and is not kept any more
	takes(true, rollouts, "c", roomBytes/2)
	rollouts.drop("b")
	takes(true, deployments, "a", roomBytes/2)
	rollouts.leave()
	takes(false, rollouts, "c", 1) // its last event comes late
	rollouts.drop("c")
	takes(true, deployments, "e", roomBytes/2)
	deployments.leave()
	others.leave()
	if len(r.byNamespace) != 0 {
		t.Error(fmt.Sprint(r.byNamespace))
	}
}

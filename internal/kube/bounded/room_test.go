package bounded

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestRooms: all that Environments of a namespace name share its room, another namespace has its own, also for the same object, and nothing
// is counted of what is gone.
func TestRooms(t *testing.T) {
	const bytes = 8 << 20
	r := NewRoom(bytes)
	deployments, rollouts := r.Share(), r.Share()
	name := func(object string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: object} }
	takes := func(want bool, s *Share, object string, bytes int64, namespaces ...string) {
		t.Helper()
		if got := s.Take(name(object), "1", bytes, namespaces...); got != want {
			t.Errorf("%s takes %d: %t", object, bytes, got)
		}
	}
	takes(true, deployments, "a", bytes/2, "attacker")
	takes(true, deployments, "a", bytes/2, "attacker") // it was changed
	takes(true, rollouts, "a", bytes/2, "attacker")    // of another kind
	if r.Has("attacker", 1) || !r.Has("acme", bytes) {
		t.Error("it is full, and the other one is empty")
	}
	takes(false, rollouts, "c", 1, "attacker")
	takes(true, rollouts, "c", bytes, "attacker", "acme")
	takes(false, deployments, "a", bytes/2+1, "attacker") // it has grown, and is not kept any more
	takes(true, rollouts, "d", bytes/2, "attacker")
	rollouts.Drop(name("a"), "0") // an earlier one of the name
	takes(false, deployments, "f", 1, "attacker")
	rollouts.Drop(name("a"), "1")
	takes(true, deployments, "a", bytes/2, "attacker")
	rollouts.Close()
	takes(false, rollouts, "c", 1, "attacker") // its last event comes late
	rollouts.Drop(name("c"), "1")
	takes(true, deployments, "e", bytes/2, "attacker")
	if deployments.Close(); len(r.used) != 0 {
		t.Errorf("%v", r.used)
	}
}

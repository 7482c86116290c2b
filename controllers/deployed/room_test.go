package deployed

import "testing"

// TestRooms: all that Environments of a namespace name share its room, another namespace has its own, also for the same object, and nothing
// is counted of what is gone.
func TestRooms(t *testing.T) {
	r := newRooms()
	deployments, rollouts := r.enter(), r.enter()
	takes := func(want bool, s *share, object string, bytes int64, namespaces ...string) {
		t.Helper()
		if got := s.take(object, "1", bytes, namespaces); got != want {
			t.Errorf("%s takes %d: %t", object, bytes, got)
		}
	}
	takes(true, deployments, "a", roomBytes/2, "attacker")
	takes(true, deployments, "a", roomBytes/2, "attacker") // it was changed
	takes(true, rollouts, "a", roomBytes/2, "attacker")    // of another kind
	if r.has("attacker", 1) || !r.has("acme", roomBytes) {
		t.Error("it is full, and the other one is empty")
	}
	takes(false, rollouts, "c", 1, "attacker")
	takes(true, rollouts, "c", roomBytes, "attacker", "acme")
	takes(false, deployments, "a", roomBytes/2+1, "attacker") // it has grown, and is not kept any more
	takes(true, rollouts, "d", roomBytes/2, "attacker")
	rollouts.drop("a", "0") // an earlier one of the name
	takes(false, deployments, "f", 1, "attacker")
	rollouts.drop("a", "1")
	takes(true, deployments, "a", roomBytes/2, "attacker")
	rollouts.leave()
	takes(false, rollouts, "c", 1, "attacker") // its last event comes late
	rollouts.drop("c", "1")
	takes(true, deployments, "e", roomBytes/2, "attacker")
	if deployments.leave(); len(r.used) != 0 {
		t.Errorf("%v", r.used)
	}
}

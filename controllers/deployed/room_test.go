package deployed

import "testing"

// TestRooms: all that Environments of a namespace name share its room, another namespace has its own, also for the same object, and nothing
// is counted of what is gone.
func TestRooms(t *testing.T) {
	r := newRooms()
	deployments, rollouts := r.enter(), r.enter()
	takes := func(want bool, s *share, object string, bytes int64, namespaces ...string) {
		t.Helper()
		if got := s.take(object, bytes, namespaces); got != want {
			t.Errorf("%s takes %d: %t", object, bytes, got)
		}
	}
	takes(true, deployments, "a", roomBytes/2, "attacker")
	takes(true, deployments, "a", roomBytes/2, "attacker") // it was changed
	takes(true, rollouts, "a", roomBytes/2, "attacker")    // of another kind
	if r.has("attacker", 1) || !r.has("acme", roomBytes) || r.wereFull("attacker") {
		t.Error("before something has no room")
	}
	takes(false, rollouts, "c", 1, "attacker")
	takes(true, rollouts, "c", roomBytes, "attacker", "acme")
	if !r.wereFull("attacker") || r.wereFull("attacker") || r.wereFull("acme") {
		t.Error("after something had no room")
	}
	takes(false, deployments, "a", roomBytes/2+1, "attacker") // it has grown, and is not kept any more
	takes(true, rollouts, "d", roomBytes/2, "attacker")
	rollouts.drop("a")
	takes(true, deployments, "a", roomBytes/2, "attacker")
	rollouts.leave()
	takes(false, rollouts, "c", 1, "attacker") // its last event comes late
	rollouts.drop("c")
	takes(true, deployments, "e", roomBytes/2, "attacker")
	if deployments.leave(); len(r.used) != 0 {
		t.Errorf("%v", r.used)
	}
}

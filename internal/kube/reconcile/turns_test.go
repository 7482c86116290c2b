package reconcile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
)

// delayed remembers what is added later.
type delayed struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	all []string
}

func (d *delayed) AddAfter(req ctrl.Request, after time.Duration) {
	d.all = append(d.all, fmt.Sprintf("%s in %s", req, after))
}

func request(namespace, name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func newTestTurns(t *testing.T) (*Turns, *clocktesting.FakePassiveClock, *delayed) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	q := &delayed{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueue[ctrl.Request](nil)}
	turns := NewTurns()
	turns.clock = clock
	if err := turns.Feed(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return turns, clock, q
}

// TestTurns: a namespace waits for itself, in order, and pauses after what it cost. Others do not wait.
func TestTurns(t *testing.T) {
	turns, clock, q := newTestTurns(t)
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	begins := func(want bool, namespace, name string) {
		t.Helper()
		if got := turns.Begin(request(namespace, name)); got != want {
			t.Errorf("%s/%s begins: %t", namespace, name, got)
		}
	}
	added := func(want ...string) {
		t.Helper()
		if !slices.Equal(q.all, want) {
			t.Errorf("%q, want %q", q.all, want)
		}
		q.all = nil
	}
	begins(true, "attacker", "a")
	begins(false, "attacker", "b")
	begins(false, "attacker", "c")
	begins(false, "attacker", "b") // again, because its workload changed
	begins(true, "acme", "staging")
	stop := turns.Measure("attacker")
	pass(3 * time.Second)
	stop()
	pass(time.Hour) // writing and asking is not computing
	turns.End("attacker")
	turns.End("acme")
	added("attacker/b in 12s")
	begins(true, "acme", "staging")
	turns.End("acme")
	pass(2 * time.Second)
	begins(false, "attacker", "a")
	added("attacker/a in 10s")
	pass(10 * time.Second)
	begins(true, "attacker", "b")
	begins(false, "attacker", "a")
	turns.End("attacker")
	added("attacker/c in 0s")
	begins(true, "attacker", "c")
	turns.End("attacker")
	added("attacker/a in 0s")
	begins(true, "attacker", "a")
	turns.End("attacker")
	added()
	for i := range manyNamespaces {
		begins(true, fmt.Sprint("team-", i), "staging")
		turns.End(fmt.Sprint("team-", i))
	}
	if len(turns.byNamespace) > manyNamespaces {
		t.Errorf("%d namespaces are kept", len(turns.byNamespace))
	}
}

package suite

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
)

// statusWriters is how many statuses of waiting runs are written at once: two write hundreds a second. With four, the runs of other teams
// took half as long again while a team queued thousands; with one per worker, seconds.
const statusWriters = 2

// statusSlots are for writing the statuses of waiting runs. Without them, a team that queues thousands of runs would delay the statuses
// of other teams by seconds. A run without a slot is reconciled again when it has one, so that no worker waits. Namespaces alternate.
type statusSlots struct {
	mu      sync.Mutex
	taken   sets.Set[ctrl.Request]    // until their reconcile ends
	waiting sets.Set[ctrl.Request]    // for a slot
	queues  map[string][]ctrl.Request // of those that wait, by namespace
	order   []string                  // of these namespaces
}

func newStatusSlots() *statusSlots {
	return &statusSlots{taken: sets.New[ctrl.Request](), waiting: sets.New[ctrl.Request](), queues: map[string][]ctrl.Request{}}
}

// If the status may not be written now, a later call of leave returns the run.
func (t *statusSlots) take(run ctrl.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken.Has(run) || len(t.taken) < statusWriters {
		t.taken.Insert(run)
		return true
	}
	if !t.waiting.Has(run) {
		t.waiting.Insert(run)
		if t.queues[run.Namespace] == nil {
			t.order = append(t.order, run.Namespace)
		}
		t.queues[run.Namespace] = append(t.queues[run.Namespace], run)
	}
	return false
}

// leave ends the reconcile of a run and returns the run that gets its slot, which must be reconciled.
func (t *statusSlots) leave(run ctrl.Request) (next ctrl.Request, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken.Has(run) {
		return next, false
	}
	t.taken.Delete(run)
	if len(t.order) == 0 {
		return next, false
	}
	namespace := t.order[0]
	t.order = t.order[1:]
	next = t.queues[namespace][0]
	if t.queues[namespace] = t.queues[namespace][1:]; len(t.queues[namespace]) > 0 {
		t.order = append(t.order, namespace)
	} else {
		delete(t.queues, namespace)
	}
	t.waiting.Delete(next)
	t.taken.Insert(next)
	return next, true
}

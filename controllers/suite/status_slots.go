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

// take reports whether the status may be written now. If not, a later call of leave returns the run.
func (s *statusSlots) take(run ctrl.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.Has(run) || len(s.taken) < statusWriters {
		s.taken.Insert(run)
		return true
	}
	if !s.waiting.Has(run) {
		s.waiting.Insert(run)
		if s.queues[run.Namespace] == nil {
			s.order = append(s.order, run.Namespace)
		}
		s.queues[run.Namespace] = append(s.queues[run.Namespace], run)
	}
	return false
}

// leave ends the reconcile of a run and returns the run that gets its slot, which must be reconciled.
func (s *statusSlots) leave(run ctrl.Request) (next ctrl.Request, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken.Has(run) {
		return next, false
	}
	s.taken.Delete(run)
	if len(s.order) == 0 {
		return next, false
	}
	namespace := s.order[0]
	s.order = s.order[1:]
	next = s.queues[namespace][0]
	if s.queues[namespace] = s.queues[namespace][1:]; len(s.queues[namespace]) > 0 {
		s.order = append(s.order, namespace)
	} else {
		delete(s.queues, namespace)
	}
	s.waiting.Delete(next)
	s.taken.Insert(next)
	return next, true
}

package suite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// exactPositions is the last position that a message states exactly. All runs behind it have the same message.
const exactPositions = 20

// TestNextInQueue ends a run in random queues. NextInQueue must contain every run that may start then, or whose
// position in the message changes, and only a few others.
func TestNextInQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	changed, skipped := 0, 0
	for range 200 {
		q := randomQueue(random)
		before := q.positions()
		q.active = q.active[1:]
		after := q.positions()
		next := suite.NextInQueue(q.waiting, suite.Blocked(q.all()), q.limits)
		if most := (exactPositions + 1 + mostSlots) * triggers * environments; len(next) > most {
			t.Fatalf("%d of %d are next, want at most %d", len(next), len(q.waiting), most)
		}
		skipped += len(q.waiting) - len(next)
		for name, position := range after {
			if was, had := before[name]; !had || position == was {
				continue // a run without a position waited for its stream, whose end enqueues it
			}
			changed++
			if !slices.ContainsFunc(next, func(s *v1alpha1.Suite) bool { return s.Name == name }) {
				t.Fatalf("%s moved from position %d to %d, and is not among the next of %d with the limits %v", name, before[name], position, len(q.waiting), q.limits)
			}
		}
	}
	if changed == 0 || skipped == 0 {
		t.Errorf("%d positions changed, and %d runs were skipped: this proves nothing", changed, skipped)
	}
}

const (
	triggers     = 3
	environments = 2
	mostSlots    = 7
)

type queue struct {
	active, waiting []*v1alpha1.Suite
	limits          suite.Limits
}

func randomQueue(random *rand.Rand) *queue {
	q := &queue{limits: suite.Limits{Team: random.Int32N(mostSlots + 1), Trigger: map[string]int32{}, Environment: map[string]int32{}}}
	for i := range triggers {
		q.limits.Trigger[triggerName(i)] = random.Int32N(4)
	}
	for i := range environments {
		q.limits.Environment[environmentName(i)] = random.Int32N(4)
	}
	for i := range 1 + random.IntN(300) {
		s := aSuite(fmt.Sprintf("run-%d", i), random.IntN(1000))
		s.Spec.Trigger.Name = triggerName(random.IntN(triggers))
		s.Spec.Environment = environmentName(max(0, random.IntN(10)-8)) // most are in one
		s.Spec.SupersedeKey = fmt.Sprintf("stream-%d", random.IntN(300))
		if random.IntN(30) == 0 {
			in(v1alpha1.StoreUnavailable("The store is down."))(s)
		}
		if i == 0 || random.IntN(20) == 0 {
			q.active = append(q.active, s)
		} else {
			q.waiting = append(q.waiting, s)
		}
	}
	return q
}

func environmentName(i int) string { return fmt.Sprintf("environment-%d", i) }

func triggerName(i int) string { return fmt.Sprintf("trigger-%d", i) }

// positions in the messages of the waiting runs. Blocked runs have another message.
func (q *queue) positions() map[string]int {
	positions := map[string]int{}
	all, blocked := q.all(), suite.Blocked(q.all())
	for _, s := range q.waiting {
		if blocked(s) {
			continue
		}
		position := suite.QueuePosition(s, all, func(o *v1alpha1.Suite) bool { return slices.Contains(q.active, o) }, q.limits)
		positions[s.Name] = min(position, exactPositions+1)
	}
	return positions
}

func (q *queue) all() []*v1alpha1.Suite { return slices.Concat(q.active, q.waiting) }

package suite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// told is the last place that a run is told exactly; whoever waits behind it is told just that.
const told = 20

// TestFront ends a run in many queues, and holds Front to this: whoever may start then, or is told
// another place, is in it, and they are few.
func TestFront(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	concerned, cut := 0, 0
	for range 200 {
		q := randomQueue(random)
		before := q.places()
		q.active = q.active[1:]
		after := q.places()
		front := suite.NextInQueue(q.waiting, suite.Blocked(q.all()), q.limits)
		if most := (told + 1 + mostSlots) * triggers * environments; len(front) > most {
			t.Fatalf("%d of %d are in front, want at most %d", len(front), len(q.waiting), most)
		}
		cut += len(q.waiting) - len(front)
		for name, place := range after {
			if was, told := before[name]; !told || place == was {
				continue // if not told, it waited for its stream, whose end wakes it
			}
			concerned++
			if !slices.ContainsFunc(front, func(s *v1alpha1.Suite) bool { return s.Name == name }) {
				t.Fatalf("%s went from place %d to %d, and is not in front of %d with the limits %v", name, before[name], place, len(q.waiting), q.limits)
			}
		}
	}
	if concerned == 0 || cut == 0 {
		t.Errorf("%d places changed, and %d runs were not in front: this proves nothing", concerned, cut)
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

// places that the waiting runs are told. Those that are stuck are told something else.
func (q *queue) places() map[string]int {
	places := map[string]int{}
	all, stuck := q.all(), suite.Blocked(q.all())
	for _, s := range q.waiting {
		if stuck(s) {
			continue
		}
		place := suite.QueuePosition(s, all, func(o *v1alpha1.Suite) bool { return slices.Contains(q.active, o) }, q.limits)
		places[s.Name] = min(place, told+1)
	}
	return places
}

func (q *queue) all() []*v1alpha1.Suite { return slices.Concat(q.active, q.waiting) }

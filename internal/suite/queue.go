package suite

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Limits bound how many runs are active at once; 0 means no limit.
type Limits struct {
	Team        int32
	Trigger     map[string]int32 // by the Trigger's name
	Environment map[string]int32 // by the Environment's name
}

// NeedsSlot reports whether anything limits how many runs of the Trigger are active at once. The Environment
// may be nil.
func NeedsSlot(team *v1alpha1.Team, t *v1alpha1.Trigger, e *v1alpha1.Environment) bool {
	return team.Spec.MaxConcurrentSuites != 0 || t.Spec.MaxConcurrentSuites != 0 || (e != nil && e.Spec.MaxConcurrentSuites != 0)
}

// QueuePosition is the position of s in the queue, from 1, and 0 where s may start now. It replays the queue:
// active runs hold their slots, then the waiting ones take the rest, first come, first served. A run needs a
// slot of the team, of its Trigger and of its Environment. While it waits for one of these it holds none of
// the others, and a blocked run holds none at all.
func QueuePosition(s *v1alpha1.Suite, unfinished []*v1alpha1.Suite, active func(*v1alpha1.Suite) bool, limits Limits) int {
	slots := slots{limits: limits, trigger: map[string]int32{}, environment: map[string]int32{}}
	var waiting []*v1alpha1.Suite
	for _, other := range unfinished {
		if active(other) {
			slots.take(other)
		} else {
			waiting = append(waiting, other)
		}
	}
	slices.SortFunc(waiting, Compare)
	blocked := Blocked(unfinished)
	position := 1
	for _, other := range waiting {
		free := slots.free(other)
		switch {
		case other.Name == s.Name && free:
			return 0
		case other.Name == s.Name:
			return position
		case blocked(other):
		case free:
			slots.take(other)
		case slots.competes(other, s):
			position++
		}
	}
	return 0
}

// NextInQueue are the waiting runs that a free slot can concern: of those that need the same slots, as many
// as there are slots, and those behind them whose messages have their exact position, or will. Others need no
// reconcile: the message of those further back does not change, and blocked ones wait for something else.
func NextInQueue(waiting []*v1alpha1.Suite, blocked func(*v1alpha1.Suite) bool, limits Limits) []*v1alpha1.Suite {
	ahead := map[need]int32{}
	return slices.DeleteFunc(slices.SortedFunc(slices.Values(waiting), Compare), func(s *v1alpha1.Suite) bool {
		if blocked(s) {
			return true
		}
		needs := limits.needs(s)
		ahead[needs]++
		return ahead[needs] > limits.of(needs)+exactPositions+1
	})
}

// need says which slots a run needs beside one of the team. The Environment is left out where it has no limit,
// or each of the many ephemeral ones would be counted apart.
type need struct{ trigger, environment string }

func (l Limits) needs(s *v1alpha1.Suite) need {
	if l.Environment[s.Spec.Environment] == 0 {
		return need{trigger: s.Spec.Trigger.Name}
	}
	return need{s.Spec.Trigger.Name, s.Spec.Environment}
}

// of is how many runs with a need can be active at once; 0 means no limit.
func (l Limits) of(n need) int32 {
	least := int32(0)
	for _, limit := range []int32{l.Team, l.Trigger[n.trigger], l.Environment[n.environment]} {
		if limit != 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// Blocked reports which of the waiting runs could not start even with a slot: those behind an unfinished run
// of their stream, of which only the oldest may start, and those that yield their slot.
func Blocked(unfinished []*v1alpha1.Suite) func(*v1alpha1.Suite) bool {
	first, second := make(map[stream]*v1alpha1.Suite, len(unfinished)), map[stream]*v1alpha1.Suite{}
	for _, s := range unfinished {
		keepOldest(first, streamOf(s), s)
	}
	for _, s := range unfinished {
		if x := streamOf(s); x.trigger == "" && s != first[x] && !siblings(s, first[x]) {
			keepOldest(second, x, s) // for the siblings of the first, which do not wait for that one
		}
	}
	return func(s *v1alpha1.Suite) bool {
		x := streamOf(s)
		return x != stream{} && (behind(s, first[x]) || behind(s, second[x])) || YieldsSlot(s)
	}
}

func keepOldest(oldest map[stream]*v1alpha1.Suite, x stream, s *v1alpha1.Suite) {
	if known := oldest[x]; known == nil || Compare(s, known) < 0 {
		oldest[x] = s
	}
}

// behind reports whether s has to wait for the end of another run, if there is one, of its stream.
func behind(s, other *v1alpha1.Suite) bool {
	return other != nil && Compare(other, s) < 0 && !siblings(other, s)
}

type slots struct {
	limits      Limits
	team        int32
	trigger     map[string]int32
	environment map[string]int32
}

func (x *slots) take(s *v1alpha1.Suite) {
	x.team++
	x.trigger[s.Spec.Trigger.Name]++
	x.environment[s.Spec.Environment]++
}

func (x *slots) free(s *v1alpha1.Suite) bool {
	return !x.teamFull() && !x.triggerFull(s) && !x.environmentFull(s)
}

func (x *slots) teamFull() bool { return full(x.team, x.limits.Team) }

func (x *slots) triggerFull(s *v1alpha1.Suite) bool {
	return full(x.trigger[s.Spec.Trigger.Name], x.limits.Trigger[s.Spec.Trigger.Name])
}

func (x *slots) environmentFull(s *v1alpha1.Suite) bool {
	return full(x.environment[s.Spec.Environment], x.limits.Environment[s.Spec.Environment])
}

func full(taken, limit int32) bool { return limit > 0 && taken >= limit }

// competes reports whether a waits for a slot that b waits for too.
func (x *slots) competes(a, b *v1alpha1.Suite) bool {
	return x.teamFull() ||
		a.Spec.Trigger.Name == b.Spec.Trigger.Name && x.triggerFull(a) ||
		a.Spec.Environment == b.Spec.Environment && x.environmentFull(a)
}

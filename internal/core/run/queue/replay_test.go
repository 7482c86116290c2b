package queue

import (
	"cmp"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// QueuePosition is the position of s in the queue, from 1, and 0 where s may start now. It is what a Queue must agree with, and replays the
// queue from its beginning: active runs hold their slots, then the waiting ones take the rest, first come, first served. A run needs a slot
// of the team, of its Trigger and of its Environment. While it waits for one of these it holds none of the others, and a run that is
// blocked, or whose Environment is on hold, has none at all.
func QueuePosition(s *v1alpha1.Suite, unfinished []*v1alpha1.Suite, active func(*v1alpha1.Suite) bool, limits Limits, held func(*v1alpha1.Suite) bool) (int, Limit) {
	slots := replayed{limits: limits, trigger: map[string]int32{}, environment: map[string]int32{}}
	var waiting []*v1alpha1.Suite
	for _, other := range unfinished {
		if active(other) {
			slots.take(other)
		} else {
			waiting = append(waiting, other)
		}
	}
	slices.SortFunc(waiting, func(a, b *v1alpha1.Suite) int {
		x, y := sortKeyOf(a), sortKeyOf(b)
		return cmp.Or(cmp.Compare(x.received, y.received), cmp.Compare(x.unclamped, y.unclamped), cmp.Compare(x.name, y.name))
	})
	blocked := Blocked(unfinished)
	position := 1
	for _, other := range waiting {
		free := slots.free(other)
		switch {
		case other.Name == s.Name && free:
			return 0, Limit{}
		case other.Name == s.Name && position > exactPositions:
			return exactPositions + 1, Limit{}
		case other.Name == s.Name:
			return position, slots.holder(s)
		case blocked(other) || held(other):
		case free:
			slots.take(other)
		case slots.competes(other, s):
			position++
		}
	}
	return 0, Limit{}
}

// Blocked reports which of the waiting runs could not start even with a slot: those behind an unfinished run
// of their stream, of which only the oldest may start, and those that yield their slot.
func Blocked(unfinished []*v1alpha1.Suite) func(*v1alpha1.Suite) bool {
	first, second := make(map[suite.Stream]*v1alpha1.Suite, len(unfinished)), map[suite.Stream]*v1alpha1.Suite{}
	for _, s := range unfinished {
		keepOldest(first, suite.StreamOf(s), s)
	}
	for _, s := range unfinished {
		if x := suite.StreamOf(s); x.Trigger == "" && s != first[x] && !suite.Siblings(s, first[x]) {
			keepOldest(second, x, s) // for the siblings of the first, which do not wait for that one
		}
	}
	return func(s *v1alpha1.Suite) bool {
		x := suite.StreamOf(s)
		return x != (suite.Stream{}) && (behind(s, first[x]) || behind(s, second[x])) || YieldsSlot(s)
	}
}

func keepOldest(oldest map[suite.Stream]*v1alpha1.Suite, x suite.Stream, s *v1alpha1.Suite) {
	if known := oldest[x]; known == nil || ledger.Compare(s, known) < 0 {
		oldest[x] = s
	}
}

// behind reports whether s has to wait for the end of another run, if there is one, of its stream.
func behind(s, other *v1alpha1.Suite) bool {
	return other != nil && ledger.Compare(other, s) < 0 && !suite.Siblings(other, s)
}

type replayed struct {
	limits      Limits
	team        int32
	trigger     map[string]int32
	environment map[string]int32
}

func (x *replayed) take(s *v1alpha1.Suite) {
	x.team++
	x.trigger[s.Spec.Trigger.Name]++
	x.environment[s.Spec.Environment]++
}

func (x *replayed) free(s *v1alpha1.Suite) bool {
	return !x.teamFull() && !x.triggerFull(s) && !x.environmentFull(s)
}

func (x *replayed) teamFull() bool { return full(x.team, x.limits.Team) }

func (x *replayed) triggerFull(s *v1alpha1.Suite) bool {
	return full(x.trigger[s.Spec.Trigger.Name], x.limits.Trigger[s.Spec.Trigger.Name])
}

func (x *replayed) environmentFull(s *v1alpha1.Suite) bool {
	return full(x.environment[s.Spec.Environment], x.limits.Environment[s.Spec.Environment])
}

// holder is the limit that a message names. Another start changes it last.
func (x *replayed) holder(s *v1alpha1.Suite) Limit {
	switch {
	case x.triggerFull(s):
		return Limit{Kind: "Trigger", Most: x.limits.Trigger[s.Spec.Trigger.Name]}
	case x.environmentFull(s):
		return Limit{Kind: "Environment", Most: x.limits.Environment[s.Spec.Environment]}
	default:
		return Limit{Kind: "Team", Most: x.limits.Team}
	}
}

// competes reports whether a waits for a slot that b waits for too.
func (x *replayed) competes(a, b *v1alpha1.Suite) bool {
	return x.teamFull() ||
		a.Spec.Trigger.Name == b.Spec.Trigger.Name && x.triggerFull(a) ||
		a.Spec.Environment == b.Spec.Environment && x.environmentFull(a)
}

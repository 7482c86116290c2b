package suite

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Limits bound how many runs are active at once; 0 means no limit.
type Limits struct {
	Team    int32
	Trigger map[string]int32 // by the Trigger's name
}

// Place is the place of s in the queue, from 1, and 0 where s may start now. It replays the queue over
// what exists: active runs hold their slots, then the waiting ones take what is left, first come
// first served. A run that waits for its Trigger's slot does not keep the team's slots from others, and
// one that could not start with a slot either, a stuck one, keeps none from anybody.
func Place(s *v1alpha1.Suite, unfinished []*v1alpha1.Suite, active func(*v1alpha1.Suite) bool, limits Limits) int {
	slots := slots{limits: limits, trigger: map[string]int32{}}
	var waiting []*v1alpha1.Suite
	for _, other := range unfinished {
		if active(other) {
			slots.take(other)
		} else {
			waiting = append(waiting, other)
		}
	}
	slices.SortFunc(waiting, Compare)
	stuck := Stuck(unfinished)
	place := 1
	for _, other := range waiting {
		free := slots.free(other)
		switch {
		case other.Name == s.Name && free:
			return 0
		case other.Name == s.Name:
			return place
		case stuck(other):
		case free:
			slots.take(other)
		case slots.competes(other, s):
			place++
		}
	}
	return 0
}

// Front are those of the waiting runs whom a slot that gets free can concern: of each Trigger as many as
// it can have slots, for all may be free by now, and those behind them who are told their exact place,
// or will be. Whoever waits further back says just that, and need not be looked at; nor need those that
// are stuck, who wait for something else.
func Front(waiting []*v1alpha1.Suite, stuck func(*v1alpha1.Suite) bool, limits Limits) []*v1alpha1.Suite {
	ahead := map[string]int32{}
	return slices.DeleteFunc(slices.SortedFunc(slices.Values(waiting), Compare), func(s *v1alpha1.Suite) bool {
		if stuck(s) {
			return true
		}
		trigger := s.Spec.Trigger.Name
		ahead[trigger]++
		return ahead[trigger] > limits.of(trigger)+exactPlaces+1
	})
}

// Stuck tells which of the waiting runs could not start with a slot either: those behind an unfinished
// run of their stream, of which only the oldest may start, and those that leave their turn to others.
func Stuck(unfinished []*v1alpha1.Suite) func(*v1alpha1.Suite) bool {
	oldest := make(map[stream]*v1alpha1.Suite, len(unfinished))
	for _, s := range unfinished {
		if first := oldest[streamOf(s)]; first == nil || Compare(s, first) < 0 {
			oldest[streamOf(s)] = s
		}
	}
	return func(s *v1alpha1.Suite) bool {
		first := oldest[streamOf(s)]
		behind := s.Spec.SupersedeKey != "" && first != nil && Compare(first, s) < 0
		return behind || LeavesTurn(s)
	}
}

// stream is what StreamKey names, at less cost where there are many.
type stream struct{ trigger, environment, key string }

func streamOf(s *v1alpha1.Suite) stream {
	return stream{s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.SupersedeKey}
}

// of a Trigger: how many slots its runs can have at most, where there is a limit.
func (l Limits) of(trigger string) int32 {
	switch own := l.Trigger[trigger]; {
	case own == 0:
		return l.Team
	case l.Team == 0:
		return own
	default:
		return min(own, l.Team)
	}
}

type slots struct {
	limits  Limits
	team    int32
	trigger map[string]int32
}

func (x *slots) take(s *v1alpha1.Suite) {
	x.team++
	x.trigger[s.Spec.Trigger.Name]++
}

func (x *slots) free(s *v1alpha1.Suite) bool {
	limit := x.limits.Trigger[s.Spec.Trigger.Name]
	return (limit == 0 || x.trigger[s.Spec.Trigger.Name] < limit) &&
		(x.limits.Team == 0 || x.team < x.limits.Team)
}

// competes tells whether a waits for a slot that b waits for too.
func (x *slots) competes(a, b *v1alpha1.Suite) bool {
	teamFull := x.limits.Team > 0 && x.team >= x.limits.Team
	return teamFull || a.Spec.Trigger.Name == b.Spec.Trigger.Name
}

package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

var positionCases = map[string]struct {
	reason string
	active []*v1alpha1.Suite
	queued []*v1alpha1.Suite // the position of the last one is tested
	limits queue.Limits
	held   string // the Environment that is on hold
	want   int
}{
	"NoLimit": {
		reason: "Without limits everything starts.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2)},
	},
	"TriggerFull": {
		reason: "The slot of the Trigger is taken.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2)},
		limits: queue.Limits{Trigger: map[string]int32{"smoke": 1}},
		want:   1,
	},
	"FirstComeFirstServed": {
		reason: "One slot is free, and an earlier run waits for it.",
		queued: []*v1alpha1.Suite{aSuite("b", 2), aSuite("c", 3)},
		limits: queue.Limits{Trigger: map[string]int32{"smoke": 1}},
		want:   1,
	},
	"ThirdInLine": {
		reason: "Two wait before it.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2, keyed("b")), aSuite("c", 3, keyed("c")), aSuite("d", 4, keyed("d"))},
		limits: queue.Limits{Trigger: map[string]int32{"smoke": 1}},
		want:   3,
	},
	"LaterOneActive": {
		reason: "A later run that has started keeps its slot.",
		active: []*v1alpha1.Suite{aSuite("z", 9)},
		queued: []*v1alpha1.Suite{aSuite("a", 1)},
		limits: queue.Limits{Trigger: map[string]int32{"smoke": 1}},
		want:   1,
	},
	"OtherTriggerDoesNotBlock": {
		reason: "Runs that wait for their own Trigger leave the team's slots to others.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2, keyed("b")), aSuite("c", 3, keyed("c")), aSuite("d", 4, ofTrigger("other"))},
		limits: queue.Limits{Team: 2, Trigger: map[string]int32{"smoke": 1}},
	},
	"TeamFull": {
		reason: "The slots of the team are taken.",
		active: []*v1alpha1.Suite{aSuite("a", 1), aSuite("b", 2)},
		queued: []*v1alpha1.Suite{aSuite("c", 3, keyed("c")), aSuite("d", 4, ofTrigger("other"))},
		limits: queue.Limits{Team: 2},
		want:   2,
	},
	"BehindItsStream": {
		reason: "One that waits for an older run of its stream takes no slot from others.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2), aSuite("c", 3, keyed("else"))},
		limits: queue.Limits{Team: 2},
	},
	"BehindAWaitingOneOfItsStream": {
		reason: "Of a stream only the oldest may start.",
		queued: []*v1alpha1.Suite{aSuite("a", 1), aSuite("b", 2), aSuite("c", 3, keyed("else"))},
		limits: queue.Limits{Team: 2},
	},
	"WithoutAStream": {
		reason: "Runs without a stream do not wait for each other.",
		queued: []*v1alpha1.Suite{
			aSuite("a", 1, withPolicy("None")), aSuite("b", 2, withPolicy("None")), aSuite("c", 3, withPolicy("None")),
		},
		limits: queue.Limits{Team: 2},
		want:   1,
	},
	"EnvironmentFull": {
		reason: "The Environment is booked by a run of another Trigger.",
		active: []*v1alpha1.Suite{aSuite("a", 1, ofTrigger("other"))},
		queued: []*v1alpha1.Suite{aSuite("b", 2)},
		limits: queue.Limits{Environment: map[string]int32{"staging": 1}},
		want:   1,
	},
	"EnvironmentFirstComeFirstServed": {
		reason: "The runs of all Triggers queue together.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2, ofTrigger("other")), aSuite("c", 3, keyed("c")), aSuite("d", 4, ofTrigger("third"))},
		limits: queue.Limits{Environment: map[string]int32{"staging": 1}},
		want:   3,
	},
	"OtherEnvironmentDoesNotBlock": {
		reason: "Runs that wait for their own Environment leave the Trigger's slots to others.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2, keyed("b")), aSuite("c", 3, inEnvironment("production"))},
		limits: queue.Limits{Trigger: map[string]int32{"smoke": 2}, Environment: map[string]int32{"staging": 1}},
	},
	"BehindNobodyWhoWaitsForAnotherEnvironment": {
		reason: "The Trigger is full, and the one before it waits for its Environment besides.",
		active: []*v1alpha1.Suite{aSuite("a", 1), aSuite("b", 2, inEnvironment("production"))},
		queued: []*v1alpha1.Suite{aSuite("c", 3, ofTrigger("other")), aSuite("d", 4, inEnvironment("production"), keyed("d"))},
		limits: queue.Limits{Trigger: map[string]int32{"smoke": 2}, Environment: map[string]int32{"staging": 1}},
		want:   1,
	},
	"EnvironmentHasRoom": {
		reason: "Two may share it.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2, ofTrigger("other"))},
		limits: queue.Limits{Environment: map[string]int32{"staging": 2}},
	},
	"BehindTheStreamOfItsEnvironment": {
		reason: "Of an Environment's stream only the oldest may start, whatever its Trigger.",
		queued: []*v1alpha1.Suite{
			aSuite("a", 1, withPolicy("Environment")), aSuite("b", 2, withPolicy("Environment"), ofTrigger("other")), aSuite("c", 3),
		},
		limits: queue.Limits{Team: 2},
	},
	"BesideItsSibling": {
		reason: "Siblings do not wait for each other, so both take a slot.",
		queued: []*v1alpha1.Suite{
			aSuite("a", 1, withPolicy("Environment"), notifiedBy("r")),
			aSuite("b", 1, withPolicy("Environment"), notifiedBy("r"), ofTrigger("other")), aSuite("c", 3),
		},
		limits: queue.Limits{Team: 2},
		want:   1,
	},
	"BehindWhatItsSiblingIsBehind": {
		reason: "Both siblings wait for an older run of the stream, and take no slot.",
		active: []*v1alpha1.Suite{aSuite("z", 2, withPolicy("Environment"), ofTrigger("third"))},
		queued: []*v1alpha1.Suite{
			aSuite("a", 1, withPolicy("Environment"), notifiedBy("r")),
			aSuite("b", 3, withPolicy("Environment"), notifiedBy("r"), ofTrigger("other")), aSuite("c", 4),
		},
		limits: queue.Limits{Team: 3},
	},
	"OnHold": {
		reason: "Runs of an Environment on hold take no slot of the team from others.",
		queued: []*v1alpha1.Suite{aSuite("a", 1, keyed("a"), inEnvironment("held")), aSuite("b", 2, keyed("b"), inEnvironment("held")), aSuite("c", 3)},
		limits: queue.Limits{Team: 1, Environment: map[string]int32{"held": 1}},
		held:   "held",
	},
	"RunsOnHold": {
		reason: "A run that had started before the hold keeps its slot.",
		active: []*v1alpha1.Suite{aSuite("a", 1, keyed("a"), inEnvironment("held"))},
		queued: []*v1alpha1.Suite{aSuite("b", 2, keyed("b"), inEnvironment("held")), aSuite("c", 3)},
		limits: queue.Limits{Team: 1},
		held:   "held",
		want:   1,
	},
	"WaitsForItsInputs": {
		reason: "A store that is down holds up only those that need it.",
		queued: []*v1alpha1.Suite{aSuite("a", 1, inState(v1alpha1.StoreUnavailable(""))), aSuite("b", 2, keyed("else"))},
		limits: queue.Limits{Team: 1},
	},
	"WaitsForItsInputsItself": {
		reason: "Others count for one that waits for its files, which it needs a slot for.",
		active: []*v1alpha1.Suite{aSuite("a", 1)},
		queued: []*v1alpha1.Suite{aSuite("b", 2, keyed("else")), aSuite("c", 3, keyed("third"), inState(v1alpha1.StoreUnavailable("")))},
		limits: queue.Limits{Team: 1},
		want:   2,
	},
	"WaitedForItsInputs": {
		reason: "It starts in a slot that is free, like any other.",
		queued: []*v1alpha1.Suite{aSuite("c", 3, inState(v1alpha1.StoreUnavailable("")))},
		limits: queue.Limits{Team: 1},
	},
}

// TestPosition tests a Queue, and the replay that it is compared with elsewhere.
func TestPosition(t *testing.T) {
	for name, tc := range positionCases {
		t.Run(name, func(t *testing.T) {
			q, isActive := queue.New(), map[string]bool{}
			for _, s := range tc.active {
				isActive[s.Name] = true
				q.SetJob(s.Name, true)
			}
			all := slices.Concat(tc.active, tc.queued)
			for _, s := range all {
				q.Set(s)
			}
			setLimits(q, tc.limits)
			q.SetHold(tc.held, t0.Add(time.Hour))
			held := func(s *v1alpha1.Suite) bool { return s.Spec.Environment == tc.held }
			active := func(s *v1alpha1.Suite) bool { return isActive[s.Name] }
			self := tc.queued[len(tc.queued)-1]
			if got, _ := queue.QueuePosition(self, all, active, tc.limits, held); got != tc.want {
				t.Errorf("%s\nreplayed: %d, want %d", tc.reason, got, tc.want)
			}
			if got, known := q.Position(self.Name); got.Number != tc.want || !known {
				t.Errorf("%s\nPosition = %+v, known: %t, want %d", tc.reason, got, known, tc.want)
			}
		})
	}
}

func setLimits(q *queue.Queue, limits queue.Limits) {
	q.SetTeamLimit(limits.Team)
	for name, limit := range limits.Trigger {
		q.SetTriggerLimit(name, limit)
	}
	for name, limit := range limits.Environment {
		q.SetEnvironmentLimit(name, limit)
	}
}

// TestPriorities: what a team with few runs asks for comes before what one with many does, and Jobs before messages.
func TestPriorities(t *testing.T) {
	of := func(runs int, limits queue.Limits) (start, status, waiting int) {
		q := queue.New()
		setLimits(q, limits)
		var last *v1alpha1.Suite
		for i := range runs {
			last = aSuite(fmt.Sprintf("run-%d", i), i+1, keyed(fmt.Sprint(i)))
			q.Set(last)
		}
		return q.StartPriority(), q.StatusPriority(), q.Priority(last)
	}
	start, status, waiting := of(1, queue.Limits{})
	if start != 0 || waiting != 0 || status >= queue.LastPriority {
		t.Errorf("one run that may start: %d, its message: %d, the run itself: %d", start, status, waiting)
	}
	manyStart, manyStatus, _ := of(1000, queue.Limits{})
	if manyStart >= start || manyStart <= -100 || manyStatus >= status {
		t.Errorf("a thousand that may start: %d, their messages: %d; one: %d and %d", manyStart, manyStatus, start, status)
	}
	limitedStart, limitedStatus, limited := of(1000, queue.Limits{Team: 1})
	if limitedStart != 0 || limited != limitedStatus || limited >= queue.LastPriority {
		t.Errorf("one of a thousand may start: %d, the message of the last: %d, want %d", limitedStart, limited, limitedStatus)
	}
}

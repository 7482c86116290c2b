package queue

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// lastRuns is how many runs of a Trigger, and of all, an estimate is made from.
const lastRuns = 10

type finishedIn struct {
	uid  types.UID
	end  time.Time
	took time.Duration
}

// remember omits runs whose tests never ran.
func (q *Queue) remember(s *v1alpha1.Suite) {
	start, end := s.Status.StartTime, s.Status.CompletionTime
	if start == nil || end == nil || end.Before(start) {
		return
	}
	run := finishedIn{s.UID, end.Time, end.Sub(start.Time)}
	q.past[s.Spec.Trigger.Name] = keep(q.past[s.Spec.Trigger.Name], run)
	q.past[""] = keep(q.past[""], run)
}

// keep adds a run to the last ones, in the order of their ends.
func keep(runs []finishedIn, run finishedIn) []finishedIn {
	if slices.ContainsFunc(runs, func(other finishedIn) bool { return other.uid == run.uid }) {
		return runs
	}
	i, _ := slices.BinarySearchFunc(runs, run, func(a, b finishedIn) int { return a.end.Compare(b.end) })
	runs = slices.Insert(runs, i, run)
	return slices.Delete(runs, 0, max(0, len(runs)-lastRuns))
}

func (q *Queue) position(n need, full fullness, number int) Position {
	return Position{Number: number, Wait: q.wait(n, full, number), Limit: q.limits.holder(n, full)}
}

// wait estimates: where n slots are taken by runs that take d each, one of them ends every d/n.
func (q *Queue) wait(n need, full fullness, position int) time.Duration {
	if full.team {
		return estimate(q.past[""], q.limits.Team, position)
	}
	longest := time.Duration(0)
	if full.trigger {
		longest = estimate(q.past[n.trigger], q.limits.Trigger[n.trigger], position)
	}
	if full.environment {
		longest = max(longest, estimate(q.past[""], q.limits.Environment[n.environment], position))
	}
	return longest
}

func estimate(runs []finishedIn, limit int32, position int) time.Duration {
	if len(runs) == 0 {
		return 0
	}
	sum := time.Duration(0)
	for _, r := range runs {
		sum += r.took
	}
	return max(sum/time.Duration(len(runs))*time.Duration(position)/time.Duration(limit), time.Second)
}

// waitSteps are coarse, so that a message does not change with each run.
var waitSteps = []time.Duration{
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute,
	30 * time.Minute, 45 * time.Minute, time.Hour, 90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour,
	8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Message says it for people.
func (p Position) Message(s *v1alpha1.Suite, team string) string {
	if p.Number > exactPositions {
		return fmt.Sprintf("Waiting for a slot, with more than %d runs ahead.", exactPositions)
	}
	message := fmt.Sprintf("Waiting for a slot, at position %d in the queue: %s.", p.Number, p.Limit.clause(s, team))
	if p.Wait == 0 {
		return message
	}
	i, _ := slices.BinarySearch(waitSteps, p.Wait)
	switch {
	case i == 0:
		return message + " By the last runs, it starts within a minute."
	case i == len(waitSteps):
		return message + " By the last runs, it starts in more than a day."
	default:
		return message + fmt.Sprintf(" By the last runs, it starts in about %s.", plaintext.Duration(waitSteps[i]))
	}
}

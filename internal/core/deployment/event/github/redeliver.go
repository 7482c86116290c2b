package github

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Attempt is one of a delivery, as GitHub lists them.
type Attempt struct {
	ID    int64
	GUID  string // of the event, which all attempts share
	Event string // its type
	Code  int    // of the answer; 0: there was none
	At    time.Time
}

// ErrRateLimit means that GitHub answers no more requests at the moment.
var ErrRateLimit = errors.New("the rate limit of GitHub is used up")

const (
	// ListFor is how old attempts matter. A deployment that is older starts nothing, so no attempt begins that could come later.
	ListFor = 55 * time.Minute
	// firstRedelivery follows the first attempt; each later pause is twice as long: 1, 2, 4, 8 and 16 minutes are half an hour.
	firstRedelivery = time.Minute
	maxAttempts     = 6
	maxRedeliveries = 50 // at once; the others come next time
)

// Redeliver returns the ids of attempts to repeat: the last one of each event that has no final answer.
func Redeliver(all []Attempt, now time.Time) (ids []int64) {
	byEvent := map[string][]Attempt{}
	for _, a := range all {
		if starts(a.Event) {
			byEvent[a.GUID] = append(byEvent[a.GUID], a)
		}
	}
	var due []Attempt
	for _, attempts := range byEvent {
		slices.SortFunc(attempts, func(a, b Attempt) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
		first, last := attempts[0], attempts[len(attempts)-1]
		pause := firstRedelivery << (len(attempts) - 1)
		if !slices.ContainsFunc(attempts, Attempt.final) && len(attempts) < maxAttempts &&
			now.Sub(first.At) < ListFor && now.Sub(last.At) >= pause {
			due = append(due, last)
		}
	}
	slices.SortFunc(due, func(a, b Attempt) int { return cmp.Compare(a.ID, b.ID) })
	for _, a := range due[:min(len(due), maxRedeliveries)] {
		ids = append(ids, a.ID)
	}
	return ids
}

func starts(kind string) bool {
	return slices.Contains([]string{"deployment_status", "check_run", "check_suite", "deployment_protection_rule"}, kind)
}

// final reports whether the event was taken, or caused the error itself. Proxies answer 404, 408 and 429, too, e.g. during a rollout.
func (a Attempt) final() bool {
	switch a.Code {
	case 400, 401, 403, 409, 413, 415: // what Postflight answers to an event that it will never take
		return true
	default:
		return a.Code >= 200 && a.Code < 300
	}
}

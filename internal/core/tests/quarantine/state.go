package quarantine

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// maxDays is the longest time from since to until. The schema has it, too.
const maxDays = 90

// State says whether a Quarantine applies.
type State int

// The states of a Quarantine.
const (
	Invalid State = iota // its days are none, or too far apart: the API server of an old schema accepted it
	Later                // since is to come
	Valid
	Expired
)

// StateOf compares the days of a Quarantine with the time. What is valid ends in at most maxDays.
func StateOf(q *v1alpha1.Quarantine, now time.Time) State {
	since, until := q.Days()
	switch {
	case since.IsZero() || until.IsZero() || !since.Before(until) || until.Sub(since) > maxDays*24*time.Hour:
		return Invalid
	case now.Before(since):
		return Later
	case now.Before(until):
		return Valid
	default:
		return Expired
	}
}

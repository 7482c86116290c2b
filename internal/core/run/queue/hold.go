package queue

import (
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// SetHold sets until when an Environment is on hold; the zero time means that it is not. Its waiting runs neither take a slot nor count
// for others. They keep their order.
func (q *Queue) SetHold(environment string, until time.Time) {
	if until.IsZero() {
		delete(q.holds, environment)
	} else {
		q.holds[environment] = until
	}
	q.setWait(environment)
}

// setWait sets until when the runs of an Environment wait: for the end of its hold, and until it has settled.
func (q *Queue) setWait(environment string) {
	until := q.holds[environment]
	if settled := q.settled(environment); settled.After(until) {
		until = settled
	}
	waited := q.Waits(environment)
	if until.After(q.now) {
		q.waits[environment] = until
		if q.nextEnd.IsZero() || until.Before(q.nextEnd) {
			q.nextEnd = until
		}
	} else {
		delete(q.waits, environment)
	}
	if waited == q.Waits(environment) {
		return
	}
	for m := range q.environments[environment] {
		m.announced = m.announced && m.active // a run that gave its claim back during the hold may start after it
		q.regroup(m)
	}
}

// EndWaits ends the holds that are over, and the waits for Environments that have settled, which no event reports. It says whether
// there was one.
func (q *Queue) EndWaits(now time.Time) (ended bool) {
	if now.After(q.now) {
		q.now = now
	}
	if q.nextEnd.IsZero() || q.now.Before(q.nextEnd) {
		return false
	}
	q.nextEnd = time.Time{}
	for environment := range q.waits {
		q.setWait(environment)
		ended = ended || !q.Waits(environment)
	}
	return ended
}

// Waits reports whether the runs of an Environment wait for the end of a hold, or until it has settled.
func (q *Queue) Waits(environment string) bool {
	_, waits := q.waits[environment]
	return waits
}

func (q *Queue) joinEnvironment(m *member) {
	if q.environments[m.environment] == nil {
		q.environments[m.environment] = map[*member]bool{}
	}
	q.environments[m.environment][m] = true
}

func (q *Queue) quitEnvironment(m *member) {
	if delete(q.environments[m.environment], m); len(q.environments[m.environment]) == 0 {
		delete(q.environments, m.environment)
	}
}

// maxHoldReason is the bound of the schema, in bytes of the longest characters.
const maxHoldReason = 4 * 256

// HoldEnd names the end of a hold, with its day unless that is today.
func HoldEnd(until, now time.Time) string { return moment(until, now, "15:04 UTC") }

func moment(t, now time.Time, layout string) string {
	t, now = t.UTC(), now.UTC()
	if t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format(layout)
	}
	return t.Format(layout + " on 2 January 2006")
}

// HoldWhy says why an Environment is on hold, and who put it there, as far as it is known.
func HoldWhy(e *v1alpha1.Environment) string {
	var why []string
	if reason := plaintext.Line(e.Spec.Hold.Reason, maxHoldReason); reason != "" {
		why = append(why, reason)
	}
	if who := suite.ShownPerson(e.Annotations[v1alpha1.AnnotationHeldBy]); who != "" {
		why = append(why, "by "+who)
	}
	return strings.Join(why, ", ")
}

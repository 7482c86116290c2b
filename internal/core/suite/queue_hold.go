package suite

import "time"

// SetHold sets until when an Environment is on hold; the zero time means that it is not. Its waiting runs neither take a slot nor count
// for others. They keep their order.
func (q *Queue) SetHold(environment string, until time.Time) {
	switch was, held := q.holds[environment]; {
	case held == !until.IsZero() && was.Equal(until):
		return
	case until.IsZero():
		delete(q.holds, environment)
	default:
		q.holds[environment] = until
	}
	for _, m := range q.members {
		if m.environment == environment {
			m.announced = m.announced && m.active // a run that gave its claim back during the hold may start after it
			q.settle(m)
		}
	}
}

// EndHolds ends the holds that are over, which no event reports, and says whether there was one.
func (q *Queue) EndHolds(now time.Time) (ended bool) {
	for environment, until := range q.holds {
		if !now.Before(until) {
			q.SetHold(environment, time.Time{})
			ended = true
		}
	}
	return ended
}

// OnHold reports whether an Environment is on hold.
func (q *Queue) OnHold(environment string) bool {
	_, held := q.holds[environment]
	return held
}

package schedule

import "time"

// everyHour has the bit of each hour, which the parser sets for * and for whatever amounts to it.
const everyHour = 1<<24 - 1

// maxPeriods bounds the search in zone data that has no end. Five years have some 30 periods; the zone with the most changes has 4 a year.
const maxPeriods = 256

// Next returns the first time after another one, or zero if there is none within five years. The parser's times are read from a clock
// without changes, and placed into the periods between two changes of the zone:
//
//   - A time that a change skips becomes the moment of the change.
//   - Of a repeated time, the first one counts.
//   - An expression for every hour names intervals: they keep real time.
func (t times) Next(after time.Time) time.Time {
	at, daily := after.In(t.zone), t.wall.Hour&everyHour != everyHour
	from := clock(at)
	for range maxPeriods {
		start, end := period(at)
		if daily && !start.IsZero() {
			if shown := clock(start.Add(-time.Nanosecond).In(t.zone)); shown.After(from) {
				from = shown
			}
		}
		next := t.wall.Next(from)
		if next.IsZero() {
			return next
		}
		if moment := at.Add(next.Sub(clock(at))); end.IsZero() || moment.Before(end) {
			return moment.In(after.Location())
		}
		at = end.In(t.zone)
		if daily && next.Before(clock(at)) {
			return end.In(after.Location())
		}
		from = clock(at).Add(-time.Nanosecond)
	}
	return time.Time{}
}

// period returns the bounds of the period that has a time, or of a part of it. Package time ends the last period of a leap year a day
// early: where its data has a rule instead of changes, each year has 365 days. A bound without a change does no harm.
func period(at time.Time) (start, end time.Time) {
	start, end = at.ZoneBounds()
	if !end.IsZero() && !end.After(at) {
		const day = 24 * time.Hour
		end = at.Truncate(day).Add(day)
	}
	return start, end
}

// clock returns what clocks show at a time, as a time in UTC.
func clock(at time.Time) time.Time {
	_, offset := at.Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

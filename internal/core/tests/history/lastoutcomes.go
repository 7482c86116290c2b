package history

import (
	"cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// LastOutcomes adds the last outcomes to the figures of a test.
type LastOutcomes struct {
	outcomes, file string
	took           spread
	failing        failingRow
}

// Add takes a day of the test in its place, the newest first.
func (l *LastOutcomes) Add(d SeenDay) {
	if room := StripRuns - len(l.outcomes); room > 0 {
		l.outcomes = d.test.Outcomes[max(0, len(d.test.Outcomes)-room):] + l.outcomes
	}
	l.file = cmp.Or(l.file, d.test.File)
	all := d.outcomes()
	l.failing.add(d, all)
	for _, o := range all {
		if o.state != httpapi.TestSkipped {
			l.took.add(float64(o.milliseconds))
		}
	}
}

// Describe fills in the figures, and since when the test fails, if that is among the days that were read or these are all.
func (l *LastOutcomes) Describe(stats *httpapi.TestStats, all bool) {
	stats.Outcomes, stats.File = l.outcomes, cmp.Or(l.file, stats.File)
	stats.MedianMilliseconds = l.took.quantiles(50)[0]
	if f := l.failing.since(); f != nil && (f.Before != nil || all) {
		stats.FailsSince = &f.First.CreatedAt
	}
}

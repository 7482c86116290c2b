package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // images and clusters have no time zones of their own, or old ones

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// minInterval keeps a schedule from filling the cluster: a run of the usual tests takes minutes. At this pace, the attempts of one
	// commit suffice for nine years of v1alpha1.MaxAttempt.
	minInterval = 5 * time.Minute

	maxQuoted = 128 // characters of a problem that come from the parser, which quotes the expression
)

// times are the times of a schedule.
type times struct {
	wall   *cron.SpecSchedule // in UTC: what clocks show
	zone   *time.Location
	jitter time.Duration // of this Trigger
}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Problem returns why a schedule is invalid, as a sentence, or "".
func Problem(s *v1alpha1.TriggerSchedule) string {
	if s == nil {
		return ""
	}
	_, problem := parse(s, "")
	return problem
}

// parse tells what the rules of the schema cannot.
func parse(s *v1alpha1.TriggerSchedule, trigger types.UID) (t times, problem string) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil || s.TimeZone == "Local" {
		return t, fmt.Sprintf("The schedule starts no runs, because there is no time zone %q. "+
			"Name one as Europe/Berlin or UTC in spec.schedule.timeZone.", s.TimeZone)
	}
	if strings.Contains(s.Cron, "=") {
		return t, "The schedule starts no runs, because spec.schedule.cron has a time zone. Write it into spec.schedule.timeZone."
	}
	parsed, err := parser.Parse(s.Cron)
	if err != nil {
		return t, fmt.Sprintf("The schedule starts no runs, because spec.schedule.cron is invalid: %s. "+
			"Write minute, hour, day of the month, month and "+
			"day of the week, as in 0 3 * * *.", plaintext.Line(err.Error(), maxQuoted))
	}
	t = times{wall: parsed.(*cron.SpecSchedule), zone: zone, jitter: jitter(s, trigger)}
	t.wall.Location = time.UTC
	switch {
	case t.never():
		return t, "The schedule starts no runs, because spec.schedule.cron names no time of the next five years. Is there such a day?"
	case t.interval() < minInterval:
		return t, fmt.Sprintf("The schedule starts no runs, because the times of spec.schedule.cron are %s apart. Make that %s at least.",
			plaintext.Duration(t.interval()), plaintext.Duration(minInterval))
	}
	return t, ""
}

// reference is any time: it has a leap year among the next five.
var reference = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// never is also true of an empty list, as in "0 , * * *".
func (t times) never() bool {
	w := t.wall
	return w.Minute == 0 || w.Hour == 0 || w.Dom == 0 || w.Month == 0 || w.Dow == 0 || w.Next(reference).IsZero()
}

// interval returns the shortest one between two times, without those that a change of the clocks brings together.
func (t times) interval() time.Duration {
	shortest, first, last := 24*60, -1, -1
	for minute := range 60 {
		if t.wall.Minute&(1<<minute) == 0 {
			continue
		}
		if first < 0 {
			first = minute
		} else {
			shortest = min(shortest, minute-last)
		}
		last = minute
	}
	for hour := range 24 {
		if t.wall.Hour&(1<<hour) != 0 && t.wall.Hour&(1<<((hour+1)%24)) != 0 {
			shortest = min(shortest, first+60-last)
		}
	}
	return time.Duration(shortest) * time.Minute
}

// jitter is the same after a restart, and in every replica.
func jitter(s *v1alpha1.TriggerSchedule, trigger types.UID) time.Duration {
	if s.Jitter == nil || s.Jitter.Duration < time.Second {
		return 0
	}
	hash := sha256.Sum256([]byte(trigger))
	seconds := uint64(s.Jitter.Duration / time.Second)
	return time.Duration(binary.BigEndian.Uint64(hash[:8])%seconds) * time.Second
}

// last returns the last time after from, and not after until; zero: there is none. It looks back further and further, because an outage may
// have lasted for a year.
func (t times) last(from, until time.Time) (last time.Time) {
	for back := time.Hour; ; back *= 2 {
		start := until.Add(-back)
		if start.Before(from) {
			start = from
		}
		for next := t.Next(start); !next.IsZero() && !next.After(until); next = t.Next(next) {
			last = next
		}
		if !last.IsZero() || !start.After(from) {
			return last
		}
	}
}

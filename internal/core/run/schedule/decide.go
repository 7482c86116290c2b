package schedule

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// maxSleep bounds how late a run starts after the clock was set forward: a timer does not notice that.
	maxSleep = 10 * time.Minute

	// aheadAtMost is more than clocks are corrected by in practice. A status from further ahead was written by a wrong clock, and does not
	// count.
	aheadAtMost = time.Hour

	maxMessage = 1024 // of the status
)

// Decision is what to do about the schedule of a Trigger.
type Decision struct {
	// Status is what the Trigger's should be before runs are started for Due; nil: it has no schedule, or a schedule that does not run.
	Status *v1alpha1.ScheduleStatus
	Due    time.Time     // for which runs have to be started; zero: for none
	After  time.Duration // when to look again; 0: when the Trigger changes

	times times
	now   time.Time
}

// Decide returns the last time of the schedule that has come and for which nothing was started, however many were missed. Only the status
// remembers that, because runs are deleted.
func Decide(t *v1alpha1.Trigger, now time.Time) Decision {
	if t.Spec.Schedule == nil || t.Spec.Paused || t.DeletionTimestamp != nil {
		return Decision{}
	}
	times, problem := parse(t.Spec.Schedule, t.UID)
	if problem != "" {
		return Decision{}
	}
	d := Decision{Status: t.Status.Schedule.DeepCopy(), times: times, now: now}
	if observed := observed(t.Spec.Schedule); d.Status == nil || d.Status.Observed != observed || d.Status.DueSince().Sub(now) > aheadAtMost {
		d.Status = &v1alpha1.ScheduleStatus{Observed: observed, Since: metav1.NewTime(now.Truncate(time.Second))}
	}
	d.Due = times.last(d.Status.DueSince(), now.Add(-times.jitter))
	d.schedule()
	return d
}

// observed leaves out the jitter: with another one, a time that has run does not run again.
func observed(s *v1alpha1.TriggerSchedule) string {
	return strings.Join(strings.Fields(s.Cron), " ") + " " + cmp.Or(s.TimeZone, "UTC")
}

// schedule sets when the next runs start.
func (d *Decision) schedule() {
	d.Status.NextTime, d.After = nil, 0
	after := d.Status.DueSince()
	if passed := d.now.Add(-d.times.jitter); passed.After(after) {
		after = passed
	}
	next := d.times.Next(after)
	if next.IsZero() { // not within five years
		return
	}
	next = next.Add(d.times.jitter)
	d.Status.NextTime = new(metav1.NewTime(next))
	d.After = max(min(next.Sub(d.now), maxSleep), time.Millisecond)
}

// Done records that runs were started for Due, or why there are none.
func (d *Decision) Done(message string) {
	d.Status.LastTime, d.Status.Message = new(metav1.NewTime(d.Due)), plaintext.Line(message, maxMessage)
	d.Due = time.Time{}
	d.schedule()
}

const scheduleKey = "schedule/"

// Key is the Idempotency-Key of what is started for a time.
func Key(due time.Time) string { return scheduleKey + due.UTC().Format(time.RFC3339) }

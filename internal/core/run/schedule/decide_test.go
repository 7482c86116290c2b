package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// noon is when the tests begin, and three is the next time of the schedules.
var (
	noon  = timeOf("2026-11-20T12:00:00Z")
	three = timeOf("2026-11-21T03:00:00Z")
)

const day = 24 * time.Hour

func aTrigger(change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e2e", UID: "uid-e2e"}}
	t.Spec.Environment = "staging"
	t.Spec.Schedule = cronOf("0 3 * * *", "")
	return build.With(t, change...)
}

// saw is a Trigger whose schedule was seen at noon, and ran at last, unless that is zero.
func saw(last time.Time) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		t.Status.Schedule = &v1alpha1.ScheduleStatus{Observed: "0 3 * * * UTC", Since: metav1.NewTime(noon)}
		if !last.IsZero() {
			t.Status.Schedule.LastTime = new(metav1.NewTime(last))
		}
	}
}

func jittered(d time.Duration) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Schedule.Jitter = &metav1.Duration{Duration: d} }
}

func TestDecide(t *testing.T) {
	delay := jitter(&v1alpha1.TriggerSchedule{Jitter: &metav1.Duration{Duration: time.Hour}}, "uid-e2e")
	never := time.Time{}
	for name, tc := range map[string]struct {
		reason  string
		trigger *v1alpha1.Trigger
		now     time.Time
		due     time.Time
		next    time.Time // zero: the schedule does not run
		after   time.Duration
	}{
		"new":             {"times before do not count", aTrigger(), noon, never, three, maxSleep},
		"new at the time": {"it is not after itself", aTrigger(), three, never, three.Add(day), maxSleep},
		"seen before":     {"nothing has come", aTrigger(saw(never)), noon.Add(time.Hour), never, three, maxSleep},
		"soon":            {"it sleeps until then", aTrigger(saw(never)), three.Add(-time.Minute), never, three, time.Minute},
		"a moment before": {"it must not spin", aTrigger(saw(never)), three.Add(-time.Microsecond), never, three, time.Millisecond},
		"at the time":     {"it has come", aTrigger(saw(never)), three, three, three.Add(day), maxSleep},
		"late":            {"it has come", aTrigger(saw(never)), three.Add(5 * time.Hour), three, three.Add(day), maxSleep},
		"has run":         {"once", aTrigger(saw(three)), three.Add(time.Second), never, three.Add(day), maxSleep},
		"several missed": {"the last one runs, once", aTrigger(saw(three)), three.Add(3*day + time.Hour), three.Add(3 * day),
			three.Add(4 * day), maxSleep},
		"the manager was off at once": {"the only one was missed", aTrigger(saw(never)), three.Add(23 * time.Hour), three, three.Add(day),
			maxSleep},
		"another expression": {"its times before do not count", aTrigger(saw(never),
			func(t *v1alpha1.Trigger) { t.Spec.Schedule.Cron = "0 4 * * *" }),
			three.Add(2 * time.Hour), never, three.Add(25 * time.Hour), maxSleep},
		"another zone": {"the same", aTrigger(saw(never), func(t *v1alpha1.Trigger) { t.Spec.Schedule.TimeZone = "Asia/Tokyo" }),
			three.Add(time.Hour), never, timeOf("2026-11-21T18:00:00Z"), maxSleep},
		"written otherwise": {"it is the same schedule", aTrigger(saw(never),
			func(t *v1alpha1.Trigger) { *t.Spec.Schedule = *cronOf(" 0  3 * * *", "UTC") }), three, three, three.Add(day), maxSleep},
		"jitter, not yet": {"it comes later", aTrigger(saw(never), jittered(time.Hour)), three.Add(delay - time.Second), never,
			three.Add(delay), time.Second},
		"jitter": {"its time is that of the schedule", aTrigger(saw(never), jittered(time.Hour)), three.Add(delay), three,
			three.Add(day + delay), maxSleep},
		"jitter, has run": {"once", aTrigger(saw(three), jittered(time.Hour)), three.Add(delay + time.Second), never,
			three.Add(day + delay), maxSleep},
		"jitter that is new": {"the time has run", aTrigger(saw(three), jittered(time.Hour)), three.Add(time.Second),
			never, three.Add(day + delay), maxSleep},
		"created before its delay": {"its time was before", aTrigger(jittered(time.Hour)), three.Add(time.Second),
			never, three.Add(day + delay), maxSleep},
		"paused": {"it does not run", aTrigger(saw(never), func(t *v1alpha1.Trigger) { t.Spec.Paused = true }), three,
			never, never, 0},
		"removed": {"there is none", aTrigger(saw(never), func(t *v1alpha1.Trigger) { t.Spec.Schedule = nil }), three,
			never, never, 0},
		"invalid": {"the Ready condition says so",
			aTrigger(saw(never), func(t *v1alpha1.Trigger) { t.Spec.Schedule.Cron = "x" }), three, never, never, 0},
		"being deleted": {"its runs could not start",
			aTrigger(saw(never), func(t *v1alpha1.Trigger) { t.DeletionTimestamp = &metav1.Time{Time: noon} }), three, never, never, 0},
		"the clock was set back": {"what has run does not run again", aTrigger(saw(three)), three.Add(-30 * time.Minute),
			never, three.Add(day), maxSleep},
		"the clock was far ahead": {"a schedule must not stop for a year", aTrigger(saw(three.Add(400 * day))), three.Add(time.Hour), never,
			three.Add(day), maxSleep},
		"the clock was set forward": {"it is late", aTrigger(saw(three)), three.Add(400 * day), three.Add(400 * day), three.Add(401 * day),
			maxSleep},
		"the clock was set to before": {"it was seen later", aTrigger(saw(never)), noon.Add(-30 * time.Minute), never, three, maxSleep},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.trigger, tc.now)
			if !d.Due.Equal(tc.due) {
				t.Errorf("%s: due is %s, want %s", tc.reason, d.Due, tc.due)
			}
			if !tc.due.IsZero() {
				d.Done("")
			}
			if d.After != tc.after {
				t.Errorf("%s: looks again after %s, want %s", tc.reason, d.After, tc.after)
			}
			if tc.next.IsZero() {
				if d.Status != nil {
					t.Errorf("%s: there is a status, %+v", tc.reason, d.Status)
				}
				return
			}
			if !d.Status.NextTime.Time.Equal(tc.next) {
				t.Errorf("%s: next is %s, want %s", tc.reason, d.Status.NextTime, tc.next)
			}
			again := tc.trigger.DeepCopy()
			again.Status.Schedule = d.Status
			if second := Decide(again, tc.now); !second.Due.IsZero() || cmp.Diff(second.Status, d.Status) != "" {
				t.Errorf("%s: the second time it decides otherwise: %s %+v", tc.reason, second.Due, second.Status)
			}
		})
	}
}

// TestPause: what would have come meanwhile is not made up for.
func TestPause(t *testing.T) {
	trigger := aTrigger(saw(three), func(t *v1alpha1.Trigger) { t.Spec.Paused = true })
	trigger.Status.Schedule = Decide(trigger, three.Add(time.Hour)).Status
	trigger.Spec.Paused = false
	d := Decide(trigger, three.Add(2*day+time.Hour))
	if !d.Due.IsZero() || !d.Status.NextTime.Time.Equal(three.Add(3*day)) {
		t.Errorf("due %s, %+v", d.Due, d.Status)
	}
}

// TestDone keeps why there is no run until the next time.
func TestDone(t *testing.T) {
	trigger := aTrigger(saw(time.Time{}))
	for i, message := range []string{"Nothing is deployed.", ""} {
		d := Decide(trigger, three.Add(time.Duration(i)*day))
		d.Done(message)
		want := &v1alpha1.ScheduleStatus{
			Observed: "0 3 * * * UTC", Since: metav1.NewTime(noon), Message: message,
			LastTime: new(metav1.NewTime(three.Add(time.Duration(i) * day))), NextTime: new(metav1.NewTime(three.Add(time.Duration(i+1) * day))),
		}
		if diff := cmp.Diff(want, d.Status); diff != "" || !d.Due.IsZero() {
			t.Error(diff)
		}
		trigger.Status.Schedule = d.Status
	}
}

func TestKey(t *testing.T) {
	if got := Key(timeOf("2026-11-21T04:00:00+01:00")); got != "schedule/2026-11-21T03:00:00Z" {
		t.Error(got)
	}
}

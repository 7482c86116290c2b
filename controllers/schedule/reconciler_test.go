package schedule_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestSchedule starts a run each time, although the commit has a result, which is no deployment.
func TestSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	hasRuns(w, nightly, 0)
	for attempt := range int32(3) {
		comes(w, nightly)
		runs := hasRuns(w, nightly, int(attempt)+1)
		last := runs[attempt]
		if last.Spec.Deployment.SHA != build.Commit(1) || last.Spec.Attempt != attempt+1 || !last.ScheduledFor().Equal(nightly.Status.Schedule.LastTime.Time) {
			t.Errorf("%+v, %s", last.Spec, last.ScheduledFor())
		}
		w.Passes(last.Name)
		w.Reaches(last.Name, v1alpha1.ReasonPassed, "")
	}
	staging := build.Environment("staging")
	w.Read(staging)
	if d := staging.Status.Deployed; len(d) != 1 || d[0].SHA != build.Commit(1) || !d[0].Since.Time.Before(nightly.Status.Schedule.LastTime.Time) || d[0].Previous != nil {
		t.Errorf("%+v", d)
	}
	w.HasEvent(nightly, "Normal Scheduled: It is "+nightly.Status.Schedule.LastTime.UTC().Format(time.RFC3339)+". Started "+runsOf(w, nightly)[2].Name+".")
}

// TestScheduleAfterACrash: the manager ends after it has created the run, and before it has written that. The next one starts no second
// run, although the first has ended.
func TestScheduleAfterACrash(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.Schedules.Waits.Store(true)
	next := hasNext(w, nightly)
	w.Clock.MoveOn(next.Sub(w.Clock.Now()) + time.Second)
	pokes(w, nightly)
	poll.True(t, "the run is created", func() bool { return len(runsOf(w, nightly)) > 0 })
	run := runsOf(w, nightly)[0].Name
	w.Passes(run)
	w.Reaches(run, v1alpha1.ReasonPassed, "")
	w.Stop()
	w.Read(nightly)
	if nightly.Status.Schedule.LastTime != nil {
		t.Fatal("the status was written")
	}
	w.Schedules.Waits.Store(false)
	w.StartManager()
	cameTo(w, nightly, next)
	hasRuns(w, nightly, 1)
	comes(w, nightly)
	hasRuns(w, nightly, 2)
}

// TestMissedSchedule: after an outage in which many times have come, one run is started, for the last of them.
func TestMissedSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	next := hasNext(w, nightly)
	w.Stop()
	w.Clock.MoveOn(next.Sub(w.Clock.Now()) + 3*time.Hour + time.Second)
	w.StartManager()
	cameTo(w, nightly, next.Add(3*time.Hour))
	hasRuns(w, nightly, 1)
	w.Stop()
	w.StartManager()
	pokes(w, nightly)
	hasNext(w, nightly)
	hasRuns(w, nightly, 1)
}

// TestScheduleBesideARun: the run that has not ended is the answer.
func TestScheduleBesideARun(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	comes(w, nightly)
	first := hasRuns(w, nightly, 1)[0].Name
	comes(w, nightly)
	hasRuns(w, nightly, 1)
	w.HasEvent(nightly, "These runs test what is deployed already: "+first+".")
	w.Passes(first)
	w.Reaches(first, v1alpha1.ReasonPassed, "")
	comes(w, nightly)
	hasRuns(w, nightly, 2)
}

// TestScheduleOfNothing says that there is nothing to test, until there is.
func TestScheduleOfNothing(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	staging := build.Environment("staging")
	deploys(w, staging, "")
	comes(w, nightly)
	hasRuns(w, nightly, 0)
	if got := nightly.Status.Schedule.Message; !strings.Contains(got, "Nothing is deployed in staging") {
		t.Error(got)
	}
	w.HasEvent(nightly, "Nothing is deployed in staging")
	deploys(w, staging, build.Commit(2))
	comes(w, nightly)
	hasRuns(w, nightly, 1)
	if got := nightly.Status.Schedule.Message; got != "" {
		t.Error(got)
	}
}

// TestPausedSchedule starts nothing, and makes up for nothing.
func TestPausedSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.Change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Paused = true })
	hasNoSchedule(w, nightly)
	w.Clock.MoveOn(time.Hour)
	w.Change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Paused = false })
	hasNext(w, nightly)
	hasRuns(w, nightly, 0)
	comes(w, nightly)
	hasRuns(w, nightly, 1)
	w.Change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Schedule = nil })
	hasNoSchedule(w, nightly)
}

// TestScheduleOnHold queues its run as any other.
func TestScheduleOnHold(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.Change(build.Environment("staging"), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(w.Clock.Now().Add(time.Hour)), Reason: "debugging"}
	})
	comes(w, nightly)
	w.Reaches(hasRuns(w, nightly, 1)[0].Name, v1alpha1.ReasonQueued, "debugging")
	comes(w, nightly)
	hasRuns(w, nightly, 1)
}

// TestInvalidSchedule is said by the Ready condition. Notifications still start runs.
func TestInvalidSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.Change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Schedule.TimeZone = "Europe/Bielefeld" })
	hasNoSchedule(w, nightly)
	w.HasCondition(nightly, v1alpha1.ConditionReady, "ScheduleInvalid", `there is no time zone "Europe/Bielefeld"`)
	w.Await("it is stalled", nightly, func() bool { return meta.IsStatusConditionTrue(nightly.Status.Conditions, v1alpha1.ConditionStalled) })
	w.HasEvent(nightly, "Warning ScheduleInvalid: The schedule starts no runs")
}

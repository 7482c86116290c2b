package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestSchedule starts a run each time, although the commit has a result, which is no deployment.
func TestSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.hasRuns(nightly, 0)
	for attempt := range int32(3) {
		w.comes(nightly)
		runs := w.hasRuns(nightly, int(attempt)+1)
		last := runs[attempt]
		if last.Spec.Deployment.SHA != commit(1) || last.Spec.Attempt != attempt+1 || !last.ScheduledFor().Equal(nightly.Status.Schedule.LastTime.Time) {
			t.Errorf("%+v, %s", last.Spec, last.ScheduledFor())
		}
		w.passes(last.Name)
		w.reaches(last.Name, v1alpha1.ReasonPassed, "")
	}
	staging := &v1alpha1.Environment{}
	w.must(w.Client.Get(context.Background(), w.key("staging"), staging))
	if d := staging.Status.Deployed; len(d) != 1 || d[0].SHA != commit(1) || !d[0].Since.Time.Before(nightly.Status.Schedule.LastTime.Time) || d[0].Previous != nil {
		t.Errorf("%+v", d)
	}
	w.hasScheduleEvent(nightly, "Normal Scheduled: It is "+nightly.Status.Schedule.LastTime.UTC().Format(time.RFC3339)+". Started "+w.runsOf(nightly)[2].Name+".")
}

// TestScheduleAfterACrash: the manager ends after it has created the run, and before it has written that. The next one starts no second run,
// although the first has ended.
func TestScheduleAfterACrash(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.starter.waits.Store(true)
	next := w.hasNext(nightly)
	w.clock.moveOn(next.Sub(w.clock.Now()) + time.Second)
	w.pokes(nightly)
	w.eventually("the run is created", func() string {
		if len(w.runsOf(nightly)) == 0 {
			return "it is not"
		}
		return ""
	})
	run := w.runsOf(nightly)[0].Name
	w.passes(run)
	w.reaches(run, v1alpha1.ReasonPassed, "")
	w.stop()
	w.must(w.Client.Get(context.Background(), w.key(nightly.Name), nightly))
	if nightly.Status.Schedule.LastTime != nil {
		t.Fatal("the status was written")
	}
	w.starter.waits.Store(false)
	w.startManager()
	w.cameTo(nightly, next)
	w.hasRuns(nightly, 1)
	w.comes(nightly)
	w.hasRuns(nightly, 2)
}

// TestMissedSchedule: after an outage in which many times have come, one run is started, for the last of them.
func TestMissedSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	next := w.hasNext(nightly)
	w.stop()
	w.clock.moveOn(next.Sub(w.clock.Now()) + 3*time.Hour + time.Second)
	w.startManager()
	w.cameTo(nightly, next.Add(3*time.Hour))
	w.hasRuns(nightly, 1)
	w.stop()
	w.startManager()
	w.pokes(nightly)
	w.hasNext(nightly)
	w.hasRuns(nightly, 1)
}

// TestScheduleBesideARun: the run that has not ended is the answer.
func TestScheduleBesideARun(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.comes(nightly)
	first := w.hasRuns(nightly, 1)[0].Name
	w.comes(nightly)
	w.hasRuns(nightly, 1)
	w.hasScheduleEvent(nightly, "These runs test what is deployed already: "+first+".")
	w.passes(first)
	w.reaches(first, v1alpha1.ReasonPassed, "")
	w.comes(nightly)
	w.hasRuns(nightly, 2)
}

// TestScheduleOfNothing says that there is nothing to test, until there is.
func TestScheduleOfNothing(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	staging := anEnvironment("staging")
	w.deploys(staging, "")
	w.comes(nightly)
	w.hasRuns(nightly, 0)
	if got := nightly.Status.Schedule.Message; !strings.Contains(got, "Nothing is deployed in staging") {
		t.Error(got)
	}
	w.hasScheduleEvent(nightly, "Nothing is deployed in staging")
	w.deploys(staging, commit(2))
	w.comes(nightly)
	w.hasRuns(nightly, 1)
	if got := nightly.Status.Schedule.Message; got != "" {
		t.Error(got)
	}
}

// TestPausedSchedule starts nothing, and makes up for nothing.
func TestPausedSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Paused = true })
	w.hasNoSchedule(nightly)
	w.clock.moveOn(time.Hour)
	w.change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Paused = false })
	w.hasNext(nightly)
	w.hasRuns(nightly, 0)
	w.comes(nightly)
	w.hasRuns(nightly, 1)
	w.change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Schedule = nil })
	w.hasNoSchedule(nightly)
}

// TestScheduleOnHold queues its run as any other.
func TestScheduleOnHold(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.change(anEnvironment("staging"), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(w.clock.Now().Add(time.Hour)), Reason: "debugging"}
	})
	w.comes(nightly)
	w.reaches(w.hasRuns(nightly, 1)[0].Name, v1alpha1.ReasonQueued, "debugging")
	w.comes(nightly)
	w.hasRuns(nightly, 1)
}

// TestInvalidSchedule is said by the Ready condition. Notifications still start runs.
func TestInvalidSchedule(t *testing.T) {
	t.Parallel()
	w, nightly := scheduledWorld(t)
	w.change(nightly, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Schedule.TimeZone = "Europe/Bielefeld" })
	w.hasNoSchedule(nightly)
	w.eventually("it is not ready", func() string {
		w.must(w.Client.Get(context.Background(), w.key(nightly.Name), nightly))
		c := meta.FindStatusCondition(nightly.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Reason != "ScheduleInvalid" || !strings.Contains(c.Message, `there is no time zone "Europe/Bielefeld"`) ||
			!meta.IsStatusConditionTrue(nightly.Status.Conditions, v1alpha1.ConditionStalled) {
			return fmt.Sprintf("%+v", nightly.Status.Conditions)
		}
		return ""
	})
	w.hasScheduleEvent(nightly, "Warning ScheduleInvalid: The schedule starts no runs")
}

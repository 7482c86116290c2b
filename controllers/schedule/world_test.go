package schedule_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// scheduledWorld has an Environment with a commit, and a Trigger that runs every 5 minutes.
func scheduledWorld(t *testing.T) (w *world.World, nightly *v1alpha1.Trigger) {
	t.Helper()
	w = world.Empty(t)
	w.Schedules = &world.Schedules{Clock: w.Clock}
	w.HasTeam()
	staging := build.Environment("staging")
	w.Create(staging)
	deploys(w, staging, build.Commit(1))
	nightly = build.Trigger("nightly", func(t *v1alpha1.Trigger) { t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "*/5 * * * *"} })
	w.Create(nightly)
	w.StartManager()
	hasNext(w, nightly)
	return w, nightly
}

func deploys(w *world.World, e *v1alpha1.Environment, sha string) {
	w.T.Helper()
	w.Read(e)
	w.Status(e, func() {
		e.Status.Deployed = nil
		if sha != "" {
			since := metav1.NewTime(w.Clock.Now().Truncate(time.Second))
			e.Status.Deployed = []v1alpha1.Deployed{{Repository: "acme/shop", SHA: sha, Branch: "main", Since: &since, ReportedBy: v1alpha1.ReportedByNotification}}
		}
	})
}

// hasNext waits until the status names a time that is not over.
func hasNext(w *world.World, t *v1alpha1.Trigger) time.Time {
	w.T.Helper()
	w.Await("the next time of the schedule is known", t, func() bool {
		s := t.Status.Schedule
		return s != nil && s.NextTime != nil && s.NextTime.After(w.Clock.Now())
	})
	return t.Status.Schedule.NextTime.Time
}

// pokes makes the manager look at a Trigger, because its timers do not see that the test moves the clock.
func pokes(w *world.World, t *v1alpha1.Trigger) {
	w.T.Helper()
	w.Change(t, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.MaxConcurrentSuites++ })
}

// comes moves on to the next time, and waits until it is dealt with.
func comes(w *world.World, t *v1alpha1.Trigger) {
	w.T.Helper()
	next := hasNext(w, t)
	w.Clock.MoveOn(next.Sub(w.Clock.Now()) + time.Second)
	pokes(w, t)
	cameTo(w, t, next)
}

func cameTo(w *world.World, t *v1alpha1.Trigger, due time.Time) {
	w.T.Helper()
	w.Await("the time of the schedule has come", t, func() bool {
		s := t.Status.Schedule
		return s != nil && s.LastTime != nil && s.LastTime.Time.Equal(due)
	})
}

// runsOf are those of a Trigger, the oldest first.
func runsOf(w *world.World, t *v1alpha1.Trigger) (all []v1alpha1.Suite) {
	w.T.Helper()
	list := &v1alpha1.SuiteList{}
	w.List(list, client.MatchingLabels{v1alpha1.LabelTrigger: t.Name})
	slices.SortFunc(list.Items, func(a, b v1alpha1.Suite) int { return int(a.Spec.Attempt - b.Spec.Attempt) })
	return list.Items
}

func hasRuns(w *world.World, t *v1alpha1.Trigger, want int) []v1alpha1.Suite {
	w.T.Helper()
	all := runsOf(w, t)
	if len(all) != want {
		w.T.Fatalf("%d runs, want %d", len(all), want)
	}
	return all
}

func hasNoSchedule(w *world.World, t *v1alpha1.Trigger) {
	w.T.Helper()
	w.Await("the status has no schedule", t, func() bool { return t.Status.Schedule == nil })
}

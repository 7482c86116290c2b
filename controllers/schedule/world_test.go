package schedule_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

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
	w.Must(w.Client.Get(context.Background(), w.Key(e.Name), e))
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
	w.Eventually("the next time of the schedule is known", func() string {
		w.Must(w.Client.Get(context.Background(), w.Key(t.Name), t))
		if s := t.Status.Schedule; s == nil || s.NextTime == nil || !s.NextTime.After(w.Clock.Now()) {
			return fmt.Sprintf("%+v", s)
		}
		return ""
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
	w.Eventually("the time of the schedule has come", func() string {
		w.Must(w.Client.Get(context.Background(), w.Key(t.Name), t))
		if s := t.Status.Schedule; s == nil || s.LastTime == nil || !s.LastTime.Time.Equal(due) {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
}

// runsOf are those of a Trigger, the oldest first.
func runsOf(w *world.World, t *v1alpha1.Trigger) (all []v1alpha1.Suite) {
	w.T.Helper()
	list := &v1alpha1.SuiteList{}
	w.Must(w.Client.List(context.Background(), list, client.InNamespace(w.NS), client.MatchingLabels{v1alpha1.LabelTrigger: t.Name}))
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

func hasScheduleEvent(w *world.World, t *v1alpha1.Trigger, want string) {
	w.T.Helper()
	w.Eventually("there is an event", func() string {
		list := &eventsv1.EventList{}
		w.Must(w.Client.List(context.Background(), list, client.InNamespace(w.NS)))
		var all []string
		for _, e := range list.Items {
			if e.Regarding.Kind == "Trigger" && e.Regarding.Name == t.Name {
				all = append(all, e.Type+" "+e.Reason+": "+e.Note)
			}
		}
		if !slices.ContainsFunc(all, func(note string) bool { return strings.Contains(note, want) }) {
			return fmt.Sprintf("%q", all)
		}
		return ""
	})
}

func hasNoSchedule(w *world.World, t *v1alpha1.Trigger) {
	w.T.Helper()
	w.Eventually("the status has no schedule", func() string {
		w.Must(w.Client.Get(context.Background(), w.Key(t.Name), t))
		if t.Status.Schedule != nil {
			return fmt.Sprintf("%+v", t.Status.Schedule)
		}
		return ""
	})
}

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/run/schedule"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// starter starts runs of schedules with the real Dispatcher.
type starter struct {
	dispatcher *dispatch.Dispatcher
	clock      *clockwork
	calls      atomic.Int32
	waits      atomic.Bool // after a call, until the manager ends
}

// serves makes the starter that of a manager.
func (s *starter) serves(mgr ctrl.Manager) (err error) {
	s.dispatcher, err = dispatch.New(dispatch.Config{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(), Triggers: &match.Index{}, Budget: 45 * time.Second,
		Limits: dispatch.DefaultLimits(), Clock: s.clock, ServerTime: func(t time.Time) time.Time { return t },
	})
	return err
}

func (s *starter) Notify(
	ctx context.Context, team *v1alpha1.Team, run schedule.Run, t *v1alpha1.Trigger, due time.Time,
) (o deployedcontroller.Outcome, ok bool) {
	result, err := s.dispatcher.Dispatch(ctx, dispatch.Request{
		Team: team, Notification: run.Notification, IdempotencyKey: schedule.Key(due), RequestID: fmt.Sprint("test.", s.calls.Load()), ReceivedAt: s.clock.Now(),
		Origin: dispatch.FromSchedule(t, due, run.DeployedAt),
	})
	s.calls.Add(1)
	if s.waits.Load() {
		<-ctx.Done()
	}
	if err != nil {
		return o, false
	}
	for _, r := range result.Triggers {
		if r.Decision == dispatch.Created {
			o.Started = append(o.Started, r.SuiteID)
		} else {
			o.Existing = append(o.Existing, r.SuiteID)
		}
	}
	return o, !s.waits.Load() || errors.Is(ctx.Err(), context.Canceled) // otherwise the call has taken too long
}

// scheduledWorld has an Environment with a commit, and a Trigger that runs every 5 minutes.
func scheduledWorld(t *testing.T) (w *world, nightly *v1alpha1.Trigger) {
	t.Helper()
	w = emptyWorld(t)
	w.starter = &starter{clock: w.clock}
	w.hasTeam()
	staging := anEnvironment("staging")
	w.create(staging)
	w.deploys(staging, commit(1))
	nightly = aTrigger("nightly", func(t *v1alpha1.Trigger) { t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "*/5 * * * *"} })
	w.create(nightly)
	w.startManager()
	w.hasNext(nightly)
	return w, nightly
}

func (w *world) deploys(e *v1alpha1.Environment, sha string) {
	w.t.Helper()
	w.must(w.Client.Get(context.Background(), w.key(e.Name), e))
	w.status(e, func() {
		e.Status.Deployed = nil
		if sha != "" {
			since := metav1.NewTime(w.clock.Now().Truncate(time.Second))
			e.Status.Deployed = []v1alpha1.Deployed{{Repository: "acme/shop", SHA: sha, Branch: "main", Since: &since, ReportedBy: v1alpha1.ReportedByNotification}}
		}
	})
}

// hasNext waits until the status names a time that is not over.
func (w *world) hasNext(t *v1alpha1.Trigger) time.Time {
	w.t.Helper()
	w.eventually("the next time of the schedule is known", func() string {
		w.must(w.Client.Get(context.Background(), w.key(t.Name), t))
		if s := t.Status.Schedule; s == nil || s.NextTime == nil || !s.NextTime.After(w.clock.Now()) {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	return t.Status.Schedule.NextTime.Time
}

// pokes makes the manager look at a Trigger, because its timers do not see that the test moves the clock.
func (w *world) pokes(t *v1alpha1.Trigger) {
	w.t.Helper()
	w.change(t, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.MaxConcurrentSuites++ })
}

// comes moves on to the next time, and waits until it is dealt with.
func (w *world) comes(t *v1alpha1.Trigger) {
	w.t.Helper()
	next := w.hasNext(t)
	w.clock.moveOn(next.Sub(w.clock.Now()) + time.Second)
	w.pokes(t)
	w.cameTo(t, next)
}

func (w *world) cameTo(t *v1alpha1.Trigger, due time.Time) {
	w.t.Helper()
	w.eventually("the time of the schedule has come", func() string {
		w.must(w.Client.Get(context.Background(), w.key(t.Name), t))
		if s := t.Status.Schedule; s == nil || s.LastTime == nil || !s.LastTime.Time.Equal(due) {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
}

// runsOf are those of a Trigger, the oldest first.
func (w *world) runsOf(t *v1alpha1.Trigger) (all []v1alpha1.Suite) {
	w.t.Helper()
	list := &v1alpha1.SuiteList{}
	w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelTrigger: t.Name}))
	slices.SortFunc(list.Items, func(a, b v1alpha1.Suite) int { return int(a.Spec.Attempt - b.Spec.Attempt) })
	return list.Items
}

func (w *world) hasRuns(t *v1alpha1.Trigger, want int) []v1alpha1.Suite {
	w.t.Helper()
	all := w.runsOf(t)
	if len(all) != want {
		w.t.Fatalf("%d runs, want %d", len(all), want)
	}
	return all
}

func (w *world) hasScheduleEvent(t *v1alpha1.Trigger, want string) {
	w.t.Helper()
	w.eventually("there is an event", func() string {
		list := &eventsv1.EventList{}
		w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
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

func (w *world) hasNoSchedule(t *v1alpha1.Trigger) {
	w.t.Helper()
	w.eventually("the status has no schedule", func() string {
		w.must(w.Client.Get(context.Background(), w.key(t.Name), t))
		if t.Status.Schedule != nil {
			return fmt.Sprintf("%+v", t.Status.Schedule)
		}
		return ""
	})
}

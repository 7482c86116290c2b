package world

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/run/schedule"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Schedules is the Notifier of schedules, which starts runs with the real Dispatcher.
type Schedules struct {
	dispatcher *dispatch.Dispatcher
	Clock      *Clock
	calls      atomic.Int32
	Waits      atomic.Bool // after a call, until the manager ends
}

// serves makes it start the runs of a manager.
func (s *Schedules) serves(mgr ctrl.Manager) (err error) {
	s.dispatcher, err = dispatch.New(dispatch.Config{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(), Triggers: &match.Index{}, Budget: 45 * time.Second,
		Limits: dispatch.DefaultLimits(), Clock: s.Clock, ServerTime: func(t time.Time) time.Time { return t },
	})
	return err
}

// Notify starts the runs of a Trigger.
func (s *Schedules) Notify(
	ctx context.Context, team *v1alpha1.Team, run schedule.Run, t *v1alpha1.Trigger, due time.Time,
) (o deployedcontroller.Outcome, ok bool) {
	result, err := s.dispatcher.Dispatch(ctx, dispatch.Request{
		Team: team, Notification: run.Notification, IdempotencyKey: schedule.Key(due),
		RequestID: fmt.Sprint("test.", s.calls.Load()), ReceivedAt: s.Clock.Now(),
		Origin: dispatch.FromSchedule(t, due, run.DeployedAt),
	})
	s.calls.Add(1)
	if s.Waits.Load() {
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
	return o, !s.Waits.Load() || errors.Is(ctx.Err(), context.Canceled) // otherwise the call has taken too long
}

package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/run/schedule"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// schedules start the runs of schedules as the HTTP API starts the clients' runs.
type schedules struct{ *rollouts }

// Notify implements the Notifier of controllers/schedule.
func (s schedules) Notify(
	ctx context.Context, team *v1alpha1.Team, run schedule.Run, t *v1alpha1.Trigger, due time.Time,
) (deployed.Outcome, bool) {
	return s.dispatch(ctx, dispatch.Request{
		Team: team, Notification: run.Notification, IdempotencyKey: schedule.Key(due), RequestID: "schedule." + rand.Text(),
		Origin: dispatch.FromSchedule(t, due, run.DeployedAt),
	})
}

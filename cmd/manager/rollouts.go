package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// rollouts makes the notifications of rollouts as the HTTP API makes the clients' notifications. It is complete before the manager starts.
type rollouts struct {
	dispatcher *dispatch.Dispatcher
	synced     func() bool // all Triggers and Suites that existed at the start are known
	steady     clock.PassiveClock
}

// Notify implements deployed.Notifier.
func (r *rollouts) Notify(
	ctx context.Context, team *v1alpha1.Team, n *notification.Notification, rollout deployed.Rollout,
) (deployed.Outcome, bool) {
	return r.dispatch(ctx, dispatch.Request{
		Team: team, Notification: n, IdempotencyKey: rollout.Key, RequestID: "rollout." + rand.Text(),
		Origin: dispatch.FromRollout(rollout.Environment),
	})
}

// dispatch returns false if the notification has to be made again.
func (r *rollouts) dispatch(ctx context.Context, request dispatch.Request) (o deployed.Outcome, known bool) {
	if !r.synced() {
		return o, false
	}
	request.ReceivedAt = r.steady.Now()
	result, err := r.dispatcher.Dispatch(ctx, request)
	if failure, ok := errors.AsType[*dispatch.Error](err); ok && failure.Kind == dispatch.NamespaceGone {
		return o, true
	}
	if err != nil {
		return o, false
	}
	for _, t := range result.Triggers {
		if t.LeftOut {
			return o, false // no pipeline sends it again once the Trigger fits
		}
		switch t.Decision {
		case dispatch.Created:
			o.Started = append(o.Started, t.SuiteID)
		case dispatch.Duplicate:
			o.Existing = append(o.Existing, t.SuiteID)
		case dispatch.Failed:
			o.Problems = append(o.Problems, fmt.Sprintf("Trigger %s: %s", t.Trigger, t.Reason))
		default:
			return o, false
		}
	}
	return o, true
}

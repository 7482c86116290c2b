package eventsource

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

const (
	// redeliverEvery is how often the list of deliveries is read: 30 of the 5,000 requests that GitHub allows an App in an hour.
	redeliverEvery = 2 * time.Minute
	// redeliverTimeout bounds a round: a list of ten pages, and fifty requests.
	redeliverTimeout = time.Minute
)

// Hook is the webhook of the manager's GitHub App.
type Hook interface {
	// Deliveries returns the attempts since a time.
	Deliveries(ctx context.Context, since time.Time) ([]github.Attempt, error)
	// Redeliver asks for another attempt. Its error is github.ErrRateLimit if more requests cannot succeed at the moment.
	Redeliver(ctx context.Context, attempt int64) error
}

// Redeliverer asks GitHub to send events again that no replica has taken: GitHub does not do that by itself.
type Redeliverer struct {
	Hook  Hook
	Clock clock.PassiveClock
}

// Start runs in the leader until the context is done.
func (r *Redeliverer) Start(ctx context.Context) error {
	wait.JitterUntilWithContext(ctx, r.round, redeliverEvery, retry.Spread, true)
	return nil
}

// round only logs what fails: the next one does the same.
func (r *Redeliverer) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redeliverTimeout)
	defer cancel()
	log := ctrl.Log.WithName("events")
	now := r.Clock.Now()
	attempts, err := r.Hook.Deliveries(ctx, now.Add(-github.ListFor))
	if err != nil {
		log.Info("the deliveries of the GitHub App cannot be listed, so failed ones are not repeated", "cause", err.Error())
		return
	}
	for _, id := range github.Redeliver(attempts, now) {
		if err := r.Hook.Redeliver(ctx, id); err != nil {
			log.Info("a failed delivery of the GitHub App cannot be repeated", "attempt", id, "cause", err.Error())
			if ctx.Err() != nil || errors.Is(err, github.ErrRateLimit) {
				return
			}
			continue // GitHub may have refused only this one
		}
		log.Info("a failed delivery of the GitHub App is repeated", "attempt", id)
	}
}

package main

import (
	"context"
	"crypto/rand"
	"errors"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// pageActions are what people can do on the run pages.
type pageActions struct {
	dispatcher *dispatch.Dispatcher
	cache      client.Reader
	clock      clock.PassiveClock
}

// refusal is why nothing was changed, as a sentence.
type refusal struct{ error }

func (r refusal) Refused() string { return r.Error() }

// Cancel stops a run, and records by whom.
func (a *pageActions) Cancel(ctx context.Context, s *v1alpha1.Suite, by string) error {
	c, err := a.command(ctx, s, by)
	if err == nil {
		_, err = a.dispatcher.Cancel(ctx, c, s.Name)
	}
	return refused(err)
}

// Rerun starts the next attempt of a run, records by whom, and returns its id.
func (a *pageActions) Rerun(ctx context.Context, s *v1alpha1.Suite, by string) (string, error) {
	c, err := a.command(ctx, s, by)
	if err != nil {
		return "", err
	}
	next, _, err := a.dispatcher.Rerun(ctx, c, s.Name)
	if err != nil {
		return "", refused(err)
	}
	return next.Name, nil
}

func (a *pageActions) command(ctx context.Context, s *v1alpha1.Suite, by string) (dispatch.Command, error) {
	team, err := index.Owner(ctx, a.cache, s.Namespace)
	if err == nil && team == nil {
		err = refusal{errors.New("the namespace of the run belongs to no Team any more")}
	}
	return dispatch.Command{Team: team, By: by, RequestID: "page." + rand.Text(), ReceivedAt: a.clock.Now()}, err
}

// refused tells errors that repeating the action would not change from those that may pass.
func refused(err error) error {
	var e *dispatch.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case dispatch.Rejected, dispatch.RunFinished, dispatch.RunUnfinished:
		return refusal{errors.New(e.Message)}
	default:
		return err
	}
}

package endpoint

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/internal/apierror"
)

// hold is the patience that one request has with the API server. What is asked of it is tried again
// until it is answered for good, or the budget of the request, counted from its receipt, is used up.
// The Triggers of a notification share one hold, and so do their waits.
type hold struct {
	api      *API
	team     string
	deadline time.Time

	mu         sync.Mutex
	held       bool
	turnedAway bool // since there were too many
}

func (a *API) newHold(team string, receivedAt time.Time) *hold {
	return &hold{api: a, team: team, deadline: receivedAt.Add(a.Limits.HoldBudget)}
}

// release must be called once the request needs no patience any more.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held {
		h.api.held.leave(h.team)
		h.held = false
	}
}

// undecided is the end of a hold: nobody knows whether what was asked has happened.
type undecided struct{ cause error }

func (e *undecided) Error() string { return "no answer in time: " + e.cause.Error() }
func (e *undecided) Unwrap() error { return e.cause }

// do calls attempt until it succeeds or fails for good. Its error is that of the last attempt, or
// *undecided. The attempt must bear repetition, since it may have happened although it failed.
func (h *hold) do(ctx context.Context, attempt func(context.Context) error) error {
	for n := 0; ; n++ {
		err := h.try(ctx, n, attempt)
		if err == nil || !transient(err) {
			return err
		}
		pause := h.pause(n, err)
		if !h.api.Now().Add(pause).Before(h.deadline) || !h.enter() {
			return &undecided{err}
		}
		if h.api.Sleep(ctx, pause) != nil { // the client is gone, and with it the reason to go on
			return &undecided{err}
		}
	}
}

// try bounds one attempt, so that one that hangs leaves time for another. All but the first get twice
// the time, in case the API server is not hanging, but slow.
func (h *hold) try(ctx context.Context, n int, attempt func(context.Context) error) error {
	timeout := min(h.api.Limits.AttemptTimeout<<min(n, 1), h.deadline.Sub(h.api.Now()))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return attempt(ctx)
}

// enter counts the request among the held ones; false if there are too many.
func (h *hold) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = h.held || h.api.held.enter(h.team)
	h.turnedAway = h.turnedAway || !h.held
	return h.held
}

// wasTurnedAway reports whether it was not held, for lack of room.
func (h *hold) wasTurnedAway() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turnedAway
}

// pause doubles from attempt to attempt, with half of it random, so that requests that failed
// together do not come back together. Where the API server names a time, that is kept.
func (h *hold) pause(n int, err error) time.Duration {
	limits := h.api.Limits
	pause := min(limits.BackoffMin<<min(n, 20), limits.BackoffMax)
	pause = pause/2 + time.Duration(h.api.Jitter()*float64(pause)/2)
	if wanted, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, time.Duration(wanted)*time.Second)
	}
	return pause
}

// passing marks an error of ours that will pass.
type passing struct{ text string }

func (e *passing) Error() string { return e.text }

// transient reports whether the same attempt may succeed later.
func transient(err error) bool {
	var final *refused
	return !errors.As(err, &final) && !errors.Is(err, errGone) && apierror.Retryable(err)
}

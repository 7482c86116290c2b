package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// errOutcomeUnknown means that the request may have succeeded.
var errOutcomeUnknown = errors.New("no answer in time")

// retrier repeats calls of the API server up to a deadline. The Triggers of one notification share it, and count once among those that
// wait.
type retrier struct {
	d        *Dispatcher
	team     string
	deadline time.Time

	turnedAway atomic.Bool // because too many wait

	mu    sync.Mutex
	waits bool
}

func newRetrier(d *Dispatcher, team string, deadline time.Time) *retrier {
	return &retrier{d: d, team: team, deadline: deadline}
}

// release must be called after the last call of do.
func (r *retrier) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits {
		r.d.retrying.Release(r.team)
		r.waits = false
	}
}

// do returns the error of the last attempt, or an error that wraps it and errOutcomeUnknown, or errOutcomeUnknown alone where the error
// would be taken for a refusal. An attempt must bear repetition: what failed may have happened.
func (r *retrier) do(ctx context.Context, attempt func(context.Context) error) error {
	for n := 0; ; n++ {
		err := r.try(ctx, n, attempt)
		if err == nil || !retryable(err) {
			return err
		}
		pause := r.pause(n, err)
		if r.d.Clock.Now().Add(pause).Before(r.deadline) && r.wait() && r.d.Sleep(ctx, pause) == nil {
			r.d.noteOutage(err) // not of the last attempt, which may have had no time
			continue
		}
		if apierror.Starting(err) && r.d.afterOutage() {
			return fmt.Errorf("%w: %s", errOutcomeUnknown, err.Error())
		}
		return fmt.Errorf("%w: %w", errOutcomeUnknown, err)
	}
}

// startsWithin is how long an API server may take to load its roles, on a busy machine.
const startsWithin = 2 * time.Minute

// noteOutage is for this cluster's API server. Another cluster that is away says nothing about it.
func (d *Dispatcher) noteOutage(err error) {
	if _, elsewhere := errors.AsType[*delegation.Error](err); !elsewhere && apierror.Unreachable(err) {
		d.unreachable.Store(new(d.Clock.Now()))
	}
}

// afterOutage reports whether "forbidden" may mean that the roles are not loaded yet. Other notifications may have seen the outage.
func (d *Dispatcher) afterOutage() bool {
	last := d.unreachable.Load()
	return last != nil && d.Clock.Since(*last) < startsWithin
}

// try leaves time for another attempt if one hangs. Retries get twice the time, because the API server may be slow.
func (r *retrier) try(ctx context.Context, n int, attempt func(context.Context) error) error {
	timeout := min(r.d.Limits.AttemptTimeout<<min(n, 1), r.deadline.Sub(r.d.Clock.Now()))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return attempt(ctx)
}

func (r *retrier) wait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits = r.waits || r.d.retrying.TryAcquire(r.team)
	if !r.waits {
		r.turnedAway.Store(true)
	}
	return r.waits
}

// pause doubles, and is half random, so that requests that failed together do not come back together.
func (r *retrier) pause(n int, err error) time.Duration {
	pause := min(r.d.Limits.BackoffMin<<min(n, 20), r.d.Limits.BackoffMax)
	pause = pause/2 + time.Duration(r.d.Jitter()*float64(pause)/2)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, time.Duration(seconds)*time.Second)
	}
	return pause
}

func retryable(err error) bool {
	if other, ok := errors.AsType[*delegation.Error](err); ok {
		return !other.Refused && !other.Final
	}
	_, rejected := errors.AsType[rejectedError](err)
	_, final := errors.AsType[*Error](err)
	return !rejected && !final && !errors.Is(err, errNamespaceGone) && apierror.Retryable(err)
}

package transfer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry is how an attempt is repeated.
type Retry struct {
	Min, Max time.Duration // of the pauses, which double
	Within   time.Duration // no attempt begins later after the first one, or after the last progress; 0: none is repeated
	Attempts int           // bounds their number; 0: no bound

	// Retryable decides whether another attempt may help, and how long to pause at least.
	Retryable func(error) (retryable bool, pause time.Duration)

	// Progress measures what arrived. If it is more than ever, Within and the pauses begin anew; nil: never.
	Progress func() int64

	// Pausing is called before each pause; nil: not.
	Pausing func(err error, pause time.Duration)
}

// WhileContext repeats attempts as long as the context lives.
const WhileContext = time.Duration(math.MaxInt64)

// Do returns the error of the last attempt, or nil. It ends with the context, whose error it then adds.
func (r Retry) Do(ctx context.Context, attempt func() error) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: r.Min, MaxInterval: r.Max, Multiplier: 2}
	began, progress := time.Now(), r.progress()
	for n := 1; ; n++ {
		err := attempt()
		if err == nil || n == r.Attempts {
			return err
		}
		retryable, pause := r.Retryable(err)
		if !retryable {
			return err
		}
		if ctx.Err() != nil {
			return interrupted(ctx, err)
		}
		if now := r.progress(); now > progress {
			began, progress = time.Now(), now
			pauses.Reset()
		}
		pause = max(pause, pauses.NextBackOff())
		if time.Since(began)+pause > r.Within {
			return err
		}
		if r.Pausing != nil {
			r.Pausing(err, pause)
		}
		if Sleep(ctx, pause) != nil {
			return interrupted(ctx, err)
		}
	}
}

func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, ctx.Err())
}

func (r Retry) progress() int64 {
	if r.Progress == nil {
		return 0
	}
	return r.Progress()
}

package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// silentError means that the store did not answer for as long as it says.
type silentError time.Duration

func (e silentError) Error() string {
	return fmt.Sprintf("it does not answer within %s", time.Duration(e))
}

// watchdog cancels requests if the store does not answer in time. The caller's own time does not count.
type watchdog struct {
	ctx      context.Context // of the requests
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	patience time.Duration
}

func watch(ctx context.Context, patience time.Duration) *watchdog {
	w := &watchdog{patience: patience}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(patience, func() { w.cancel(silentError(patience)) })
	return w
}

func (w *watchdog) pause()  { w.timer.Stop() }
func (w *watchdog) resume() { w.timer.Reset(w.patience) }

func (w *watchdog) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// reason returns the error of a request, or silentError if the watchdog canceled it.
func (w *watchdog) reason(err error) error {
	var silent silentError
	if err != nil && errors.As(context.Cause(w.ctx), &silent) {
		return silent
	}
	return err
}

// ask sends one request, unless the store is known to be silent.
func (b *Bucket) ask(ctx context.Context, patience time.Duration, send func(context.Context) error) error {
	if err := b.health.lastFailure(); err != nil {
		return err
	}
	w := watch(ctx, patience)
	defer w.end()
	return b.result(ctx, w.reason(send(w.ctx)))
}

// watchedBody is the content of an object.
type watchedBody struct {
	body     io.ReadCloser
	watchdog *watchdog
	result   func(error) error
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watchdog.resume()
	n, err := b.body.Read(p)
	b.watchdog.pause()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.result(b.watchdog.reason(err))
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.watchdog.end()
	return b.body.Close()
}

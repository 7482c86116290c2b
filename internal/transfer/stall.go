package transfer

import (
	"context"
	"errors"
	"io"
	"time"
)

// Stall ends a context once nothing has moved for as long as its patience. Its methods may be called concurrently.
type Stall struct {
	context.Context // of what is watched

	patience time.Duration
	cause    error
	cancel   context.CancelCauseFunc
	timer    *time.Timer
}

// NewStall begins to wait. The cause says what did not happen in time. Call End.
func NewStall(ctx context.Context, patience time.Duration, cause error) *Stall {
	s := &Stall{patience: patience, cause: cause}
	s.Context, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(patience, func() { s.cancel(cause) })
	return s
}

// Moved begins to wait anew.
func (s *Stall) Moved() { s.timer.Reset(s.patience) }

// Allow gives the next move another time than the patience.
func (s *Stall) Allow(d time.Duration) { s.timer.Reset(d) }

// Pause stops the timer until the next Moved, Allow or Read: meanwhile, the caller is busy.
func (s *Stall) Pause() { s.timer.Stop() }

// End ends the context.
func (s *Stall) End() { s.EndWith(nil) }

// EndWith ends the context with another cause.
func (s *Stall) EndWith(cause error) {
	s.timer.Stop()
	s.cancel(cause)
}

// Stalled reports whether nothing moved.
func (s *Stall) Stalled() bool { return errors.Is(context.Cause(s.Context), s.cause) }

// Reason returns the cause if nothing moved, and otherwise the error of what was watched.
func (s *Stall) Reason(err error) error {
	if err != nil && s.Stalled() {
		return s.cause
	}
	return err
}

// Reader waits while it reads, and not while the caller is busy with what it has read. Its errors are Reasons.
func (s *Stall) Reader(r io.Reader) io.Reader { return stallReader{r, s} }

type stallReader struct {
	io.Reader
	stall *Stall
}

func (r stallReader) Read(p []byte) (int, error) {
	r.stall.Moved()
	n, err := r.Reader.Read(p)
	r.stall.Pause()
	if errors.Is(err, io.EOF) {
		return n, err
	}
	return n, r.stall.Reason(err)
}

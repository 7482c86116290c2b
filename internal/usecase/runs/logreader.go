package runs

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

var errStalled = errors.New("the next bytes of the log did not come in time")

// lazyLog is opened by the first Read, because a node does not answer before the container writes. If open fails, otherwise is used.
type lazyLog struct {
	open, otherwise func() (io.ReadCloser, error)
	log             io.ReadCloser
}

func (z *lazyLog) Read(p []byte) (n int, err error) {
	if z.log != nil {
		return z.log.Read(p)
	}
	if z.log, err = z.open(); err == nil {
		if n, err = z.log.Read(p); err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		z.log.Close()
	}
	if z.log, err = z.otherwise(); err != nil {
		return 0, err
	}
	return z.log.Read(p)
}

func (z *lazyLog) Close() error {
	if z.log == nil {
		return nil
	}
	return z.log.Close()
}

type closer struct {
	io.Reader
	close func() error
}

func (c closer) Close() error { return c.close() }

// stallReader gives up a log whose next bytes do not come in time, once watch was called.
type stallReader struct {
	io.ReadCloser
	ctx      context.Context // of the log
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	patience time.Duration
	watching atomic.Bool
}

func newStallReader(ctx context.Context, cancel context.CancelCauseFunc, log io.ReadCloser, patience time.Duration) *stallReader {
	r := &stallReader{ReadCloser: log, ctx: ctx, cancel: cancel, patience: patience}
	r.timer = time.AfterFunc(patience, func() { cancel(errStalled) })
	r.timer.Stop()
	return r
}

// watch may be called during a Read.
func (r *stallReader) watch() {
	r.watching.Store(true)
	r.timer.Reset(r.patience)
}

func (r *stallReader) Read(p []byte) (int, error) {
	if r.watching.Load() {
		r.timer.Reset(r.patience)
		defer r.timer.Stop()
	}
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(err, context.Cause(r.ctx))
	}
	return n, err
}

func (r *stallReader) Close() error {
	r.timer.Stop()
	r.cancel(nil)
	return r.ReadCloser.Close()
}

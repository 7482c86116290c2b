package runs

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/postflight-dev/postflight/internal/transfer"
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
	watched *transfer.Stall

	mu                sync.Mutex
	watching, reading bool
}

func newStallReader(watched *transfer.Stall, log io.ReadCloser) *stallReader {
	return &stallReader{ReadCloser: log, watched: watched}
}

// watch may be called during a Read.
func (r *stallReader) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watching = true; r.reading {
		r.watched.Moved()
	}
}

func (r *stallReader) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading = true; r.watching {
		r.watched.Moved()
	}
}

func (r *stallReader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading = false
	r.watched.Pause()
}

func (r *stallReader) Read(p []byte) (int, error) {
	r.begin()
	n, err := r.ReadCloser.Read(p)
	r.end()
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(err, context.Cause(r.watched))
	}
	return n, err
}

func (r *stallReader) Close() error {
	r.watched.End()
	return r.ReadCloser.Close()
}

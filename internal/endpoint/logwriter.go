package endpoint

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Why an answer with logs ends early.
var (
	errLogTooLong   = errors.New("the answer is as long as one may be")
	errFollowedLong = errors.New("the run was followed for as long as one may be")
	errStalled      = errors.New("the next bytes of the log did not come in time")
	errDraining     = errors.New("the server stops")
)

// logWriter writes plain text for as long as the client reads it.
type logWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // for each write
	flush   bool          // after each write

	begun   bool
	written int64
	last    byte // that was written
}

func (a *API) newLogWriter(w http.ResponseWriter, flush bool) *logWriter {
	return &logWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: a.Limits.LogWrite, flush: flush, last: '\n'}
}

// begin sends the headers, after which no error can be sent.
func (w *logWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.extend()
	w.WriteHeader(http.StatusOK)
	if w.flush {
		_ = w.control.Flush()
	}
}

// extend replaces the deadline of the whole answer by one for the next write. Not every ResponseWriter has one.
func (w *logWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }

func (w *logWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if w.written >= maxLogBytes {
		return 0, errLogTooLong
	}
	w.extend()
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	w.last = p[len(p)-1]
	if err == nil && w.flush {
		err = w.control.Flush()
	}
	return n, err
}

// title begins another log.
func (w *logWriter) title(source string) { _ = w.line("==> " + source + " <==") }

// line begins at the start of one.
func (w *logWriter) line(text string) error {
	w.begin()
	if w.last != '\n' {
		text = "\n" + text
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}

// stallReader gives up a log whose next bytes do not come in time, once it watches.
type stallReader struct {
	io.ReadCloser
	timer    *time.Timer
	patience time.Duration
	watching atomic.Bool
	cancel   func()
}

func newStallReader(log io.ReadCloser, patience time.Duration, cancel func()) *stallReader {
	r := &stallReader{ReadCloser: log, patience: patience, cancel: cancel}
	r.timer = time.AfterFunc(patience, cancel)
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
	return r.ReadCloser.Read(p)
}

// Close ends the connection.
func (r *stallReader) Close() error {
	r.timer.Stop()
	r.cancel()
	return r.ReadCloser.Close()
}

package runs

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/server/api/limits"
)

var (
	errLogTooLong   = errors.New("the answer is as long as one may be")
	errFollowedLong = errors.New("the run was followed for as long as one may be")
)

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

// begin sends the headers. No error can be sent after it.
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

// extend sets a deadline for the next write instead of the whole answer. Not every ResponseWriter has one.
func (w *logWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }

func (w *logWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if w.written >= limits.MaxLogBytes {
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

func (w *logWriter) title(source string) { _ = w.line("==> " + source + " <==") }

// line starts a new line first, if necessary.
func (w *logWriter) line(text string) error {
	w.begin()
	if w.last != '\n' {
		text = "\n" + text
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}

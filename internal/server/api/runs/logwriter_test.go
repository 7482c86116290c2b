package runs

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/server/api/limits"
)

// TestEndlessLog: an answer has a bound, and breaks off there.
func TestEndlessLog(t *testing.T) {
	w := &logWriter{ResponseWriter: httptest.NewRecorder(), timeout: time.Second, written: limits.MaxLogBytes - 1}
	w.control = http.NewResponseController(w.ResponseWriter)
	if _, err := w.Write([]byte("ab")); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("c")); !errors.Is(err, errLogTooLong) {
		t.Errorf("%v, want that it is too long", err)
	}
}

package pages_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/server/pages"
)

// auditLog keeps its lines.
type auditLog struct {
	mu    sync.Mutex
	lines []map[string]any
}

func (l *auditLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := map[string]any{}
	if err := json.Unmarshal(bytes.TrimSpace(line), &said); err != nil {
		return 0, err
	}
	delete(said, "time")
	l.lines = append(l.lines, said)
	return len(line), nil
}

// TestAudit: whoever signs in or out, cancels or repeats a run has a line in the audit log, and nobody else.
func TestAudit(t *testing.T) {
	audit := &auditLog{}
	h := newWorld(t, samples(), func(c *pages.Config) { c.Audit = slog.New(slog.NewJSONHandler(audit, nil)) })
	stranger := h.browser(t, "")
	stranger.post("/sign-in", "key=wrong")
	stranger.post("/sign-out", "")
	stranger.post(failedRun+"/rerun", "")
	reader := h.browser(t, readKey)
	reader.get(failedRun)
	reader.post(failedRun+"/cancel", "")
	actor := h.browser(t, actKey)
	actor.post("/runs/shop/checkout-3f9c2k7q5x0a/cancel", "")
	actor.post(failedRun+"/rerun", "")
	actor.post("/sign-out", "")

	line := func(kind, who, route string, more ...any) map[string]any {
		l := map[string]any{"level": "INFO", "msg": "request", kind: who, "signedInBy": "key", "method": "POST", "route": "POST " + route,
			"code": float64(303)}
		for i := 0; i < len(more); i += 2 {
			l[more[i].(string)] = more[i+1]
		}
		return l
	}
	id := strings.TrimPrefix(failedRun, "/runs/shop/")
	const cancel, rerun = "/runs/{namespace}/{id}/cancel", "/runs/{namespace}/{id}/rerun"
	want := []map[string]any{
		line("person", "laptop of Anna", "/sign-in"),
		line("key", "shop/act", "/sign-in"),
		line("key", "shop/act", cancel, "team", "shop", "suite", "checkout-3f9c2k7q5x0a"),
		line("key", "shop/act", rerun, "team", "shop", "suite", id, "next", id),
		line("key", "shop/act", "/sign-out", "team", "shop"),
	}
	if diff := cmp.Diff(want, audit.lines); diff != "" {
		t.Error(diff)
	}
}

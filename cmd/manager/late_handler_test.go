package main

import (
	"bytes"
	"log/slog"
	"testing"
)

// TestLateHandler: lines are as without it, whatever loggers are made from others.
func TestLateHandler(t *testing.T) {
	options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	written := func(late bool) string {
		var out bytes.Buffer
		var h slog.Handler = slog.NewJSONHandler(&out, options)
		if late {
			h = lateHandler{Handler: h}
		}
		log := slog.New(h).With("controller", "suite")
		one, other := log.With("run", "a"), log.With("run", "b", slog.Group("team", "name", "shop"))
		one.Info("starts", "job", "x")
		other.Error("fails")
		one.WithGroup("pod").With("name", "p").Info("is lost", "node", "n")
		one.Debug("is not written")
		log.Warn("ends")
		return out.String()
	}
	if got, want := written(true), written(false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

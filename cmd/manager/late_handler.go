package main

import (
	"context"
	"log/slog"
	"slices"
)

// lateHandler formats the attributes of a logger when something is logged. Each reconcile and each request has a logger with some, and most
// log nothing.
type lateHandler struct {
	slog.Handler
	attributes []slog.Attr
}

// WithAttrs implements slog.Handler.
func (h lateHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return lateHandler{h.Handler, slices.Concat(h.attributes, attributes)}
}

// WithGroup implements slog.Handler.
func (h lateHandler) WithGroup(name string) slog.Handler {
	return lateHandler{Handler: h.formatted().WithGroup(name)}
}

// Handle implements slog.Handler.
func (h lateHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.formatted().Handle(ctx, r)
}

func (h lateHandler) formatted() slog.Handler { return h.Handler.WithAttrs(h.attributes) }

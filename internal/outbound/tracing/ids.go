package tracing

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// ids are random, but for spans whose id is known before they start.
type ids struct{}

type spanIDKey struct{}

func withSpanID(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, spanIDKey{}, id)
}

// NewIDs returns the IDs of a new trace.
func (g ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the ID of a new span.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if id, ok := ctx.Value(spanIDKey{}).(trace.SpanID); ok {
		return id
	}
	_, _ = rand.Read(id[:]) // never fails
	return id
}

package dispatch

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/runtrace"
)

func traceparent(ctx context.Context) string {
	return runtrace.Format(trace.SpanContextFromContext(ctx))
}

func endMatch(span trace.Span, triggers []*v1alpha1.Trigger, err error) {
	span.SetAttributes(attribute.Int("postflight.triggers", len(triggers)))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// endCreate marks an error only if the outcome is unknown: otherwise the team's objects are the reason.
func endCreate(span trace.Span, r TriggerResult) {
	span.SetAttributes(
		attribute.String("postflight.trigger", r.Trigger),
		attribute.String("postflight.decision", string(r.Decision)),
		attribute.String("postflight.suite", r.SuiteID),
	)
	if r.Decision == Unknown {
		span.SetStatus(codes.Error, r.Reason)
	}
	span.End()
}

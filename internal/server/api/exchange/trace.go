package exchange

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// StartSpan begins the span of a request in the sender's trace. It needs the headers, so it precedes Forget.
func (s *Server) StartSpan(r *Request) {
	if s.Tracer == nil {
		return
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, r.span = s.Tracer.Start(ctx, r.Method+" "+r.Route, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.ReceivedAt),
		trace.WithAttributes(
			semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(r.Route),
			attribute.String("postflight.team", r.Team()), attribute.String("postflight.request_id", r.ID),
		))
	r.Request = r.WithContext(ctx)
}

// endSpan returns the id of the trace if the trace is recorded.
func (r *Request) endSpan(code int) (traceID string) {
	if r.span == nil {
		return ""
	}
	r.span.SetAttributes(semconv.HTTPResponseStatusCode(code))
	if code >= http.StatusInternalServerError {
		r.span.SetStatus(codes.Error, http.StatusText(code))
	}
	r.span.End()
	if sc := r.span.SpanContext(); sc.IsSampled() {
		return sc.TraceID().String()
	}
	return ""
}

func observe(o prometheus.Observer, value float64, traceID string) {
	if e, ok := o.(prometheus.ExemplarObserver); ok && traceID != "" {
		e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": traceID})
		return
	}
	o.Observe(value)
}

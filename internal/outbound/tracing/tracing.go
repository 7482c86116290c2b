// Package tracing sends traces by OTLP. The standard variables of OpenTelemetry turn it on and configure it.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/postflight-dev/postflight/internal/core/run/runtrace"
)

// flushTimeout bounds how long the end of the process waits for a collector.
const flushTimeout = 5 * time.Second

// Tracing sends the spans of a process. The methods of nil, which is off, do nothing.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns nil if the variables do not turn traces on. The instance is the name of this replica.
func New(ctx context.Context, version, instance string, log logr.Logger) (*Tracing, error) {
	on, err := enabled()
	if err != nil || !on {
		return nil, err
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up the export of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("postflight"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(instance),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetLogger(log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Info("traces were not sent", "cause", err.Error()) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}))
	return &Tracing{provider: provider, tracer: provider.Tracer("github.com/postflight-dev/postflight")}, nil
}

// The specification would send to localhost by default; a manager has no collector beside it.
func enabled() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "":
		return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != "", nil
	case "otlp":
		return true, nil
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: must be otlp or none", exporter)
	}
}

func newExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: must be http/protobuf or grpc", protocol)
	}
}

// Tracer is nil if traces are off.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Send sends the spans of a run whose Suite was created in the given span.
func (t *Tracing) Send(created trace.SpanContext, spans []runtrace.Span) {
	if t == nil {
		return
	}
	for _, s := range spans {
		ctx := trace.ContextWithRemoteSpanContext(context.Background(), created.WithSpanID(s.Parent))
		_, span := t.tracer.Start(withSpanID(ctx, s.ID), s.Name, trace.WithTimestamp(s.Start), trace.WithAttributes(s.Attributes...))
		if s.Error != "" {
			span.SetStatus(codes.Error, s.Error)
		}
		span.End(trace.WithTimestamp(s.End))
	}
}

// Shutdown sends what is left.
func (t *Tracing) Shutdown() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

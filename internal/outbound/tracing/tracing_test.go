package tracing

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/postflight-dev/postflight/internal/core/run/runtrace"
	"github.com/postflight-dev/postflight/test/otlp"
)

// TestSend: both protocols deliver spans with the ids that were chosen, at the end of the process at the latest.
func TestSend(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	parent, _ := runtrace.Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	run := runtrace.Span{Name: "run smoke", ID: trace.SpanID{1}, Parent: parent.SpanID(), Start: noon, End: noon.Add(time.Minute),
		Attributes: []attribute.KeyValue{attribute.String("postflight.state", "Failed")}, Error: "Exit code 1."}
	queue := runtrace.Span{Name: "queue", ID: trace.SpanID{2}, Parent: run.ID, Start: noon, End: noon}
	for protocol, collector := range map[string]*otlp.Collector{"": otlp.HTTP(t), "http/protobuf": otlp.HTTP(t), "grpc": otlp.GRPC(t)} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod")
			tracing, err := New(t.Context(), "v1.2.3", "pod-1", logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			tracing.Send(parent, []runtrace.Span{run, queue})
			if err := tracing.Shutdown(); err != nil {
				t.Fatal(err)
			}
			got := collector.Trace("0af7651916cd43dd8448eb211c80319c")
			resource := got["queue"].Resource
			if resource["service.name"] != "postflight" || resource["service.version"] != "v1.2.3" ||
				resource["service.instance.id"] != "pod-1" || resource["deployment.environment.name"] != "prod" {
				t.Errorf("the resource is %v", resource)
			}
			want := map[string]otlp.Span{
				"run smoke": {Trace: "0af7651916cd43dd8448eb211c80319c", ID: "0100000000000000", Parent: "b7ad6b7169203331", Name: "run smoke",
					Start: noon, End: noon.Add(time.Minute), Attributes: map[string]string{"postflight.state": "Failed"},
					Error: "error: Exit code 1.", Resource: resource},
				"queue": {Trace: "0af7651916cd43dd8448eb211c80319c", ID: "0200000000000000", Parent: "0100000000000000", Name: "queue",
					Start: noon, End: noon, Attributes: map[string]string{}, Resource: resource},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotSampled: a sender who does not record a trace gets no spans of it.
func TestNotSampled(t *testing.T) {
	collector := otlp.HTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracing, err := New(t.Context(), "", "", logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"00", "01"} {
		parent, _ := runtrace.Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + flags)
		tracing.Send(parent, []runtrace.Span{{Name: "run " + flags, ID: trace.SpanID{1}, Parent: parent.SpanID()}})
	}
	if err := tracing.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if got := collector.Trace("0af7651916cd43dd8448eb211c80319c"); len(got) != 1 || got["run 01"].Name == "" {
		t.Errorf("%v, want only the sampled span", got)
	}
}

func TestVariables(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	for name, tc := range map[string]struct {
		env map[string]string
		on  bool
		err string
	}{
		"none":                  {map[string]string{}, false, ""},
		"an endpoint":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, ""},
		"one for traces":        {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, true, ""},
		"the default one":       {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"an endpoint, disabled": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}, false, ""},
		"no exporter":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"another exporter":      {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "OTEL_TRACES_EXPORTER"},
		"another protocol": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false,
			"http/json"},
		"wrong attributes": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_RESOURCE_ATTRIBUTES": "a"},
			false, "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			tracing, err := New(t.Context(), "", "", logr.Discard())
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("%v, want an error about %q", err, tc.err)
			}
			if on := tracing != nil && tracing.Tracer() != nil; on != tc.on {
				t.Errorf("on: %v", on)
			}
		})
	}
}

// TestOff: without a collector, nothing happens.
func TestOff(t *testing.T) {
	var off *Tracing
	off.Send(trace.SpanContext{}, []runtrace.Span{{Name: "run"}})
	if err := off.Shutdown(); err != nil || off.Tracer() != nil {
		t.Errorf("%v, %v", err, off.Tracer())
	}
}

// TestCollectorAway: the process ends in time.
func TestCollectorAway(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	synctest.Test(t, func(t *testing.T) {
		tracing, err := New(t.Context(), "", "", logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		parent, _ := runtrace.Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		tracing.Send(parent, []runtrace.Span{{Name: "run", ID: trace.SpanID{1}}})
		began := time.Now()
		_ = tracing.Shutdown()
		if took := time.Since(began); took > flushTimeout {
			t.Errorf("it took %s to give up", took)
		}
	})
}

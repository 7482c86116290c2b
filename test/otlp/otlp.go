// Package otlp is a collector of traces for tests: it keeps what it is sent.
package otlp

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Span is one that was received. Ids are in hex.
type Span struct {
	Trace, ID, Parent, Name string
	Start, End              time.Time
	Attributes              map[string]string // as text
	Error                   string
	Resource                map[string]string
}

// Collector keeps spans.
type Collector struct {
	collector.UnimplementedTraceServiceServer

	URL string

	mu    sync.Mutex
	spans []Span
}

// HTTP is a Collector that speaks OTLP over HTTP.
func HTTP(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// GRPC is a Collector of the other protocol.
func GRPC(t testing.TB) *Collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := &Collector{URL: "http://" + listener.Addr().String()}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	return c
}

// ServeHTTP takes spans at /v1/traces.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := &collector.ExportTraceServiceRequest{}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "this is not what an exporter sends", http.StatusBadRequest)
		return
	}
	_, _ = c.Export(r.Context(), request) // never fails
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export takes spans.
func (c *Collector) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range r.ResourceSpans {
		resource := attributes(of.GetResource().GetAttributes())
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, spanOf(s, resource))
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func spanOf(s *tracepb.Span, resource map[string]string) Span {
	span := Span{
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId), Name: s.Name,
		Start: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano)),
		Attributes: attributes(s.Attributes), Resource: resource,
	}
	if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		span.Error = "error: " + s.Status.GetMessage()
	}
	return span
}

func attributes(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		default:
			all[a.Key] = a.Value.String()
		}
	}
	return all
}

// Trace are the spans of one trace that have been received, by name.
func (c *Collector) Trace(id string) map[string]Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]Span{}
	for _, s := range c.spans {
		if s.Trace == id {
			all[s.Name] = s
		}
	}
	return all
}

// Len is how many spans have been received.
func (c *Collector) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.spans)
}

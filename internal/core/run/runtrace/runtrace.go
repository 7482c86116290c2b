// Package runtrace derives the spans of a run and their ids from its Suite alone, so that any leader can send them.
package runtrace

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Span is one step of a run.
type Span struct {
	Name       string
	ID, Parent trace.SpanID
	Start, End time.Time
	Attributes []attribute.KeyValue
	Error      string // a sentence: why the run did not pass; empty if it did
}

// The steps of a run, one after the other.
const (
	queueStep = "queue" // until there is a Job
	startStep = "start" // until the tests run: scheduling, images, input files
	testsStep = "tests"
)

// Parse reads a W3C traceparent.
func Parse(traceparent string) (sc trace.SpanContext, ok bool) {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[3]) != 2 {
		return sc, false
	}
	traceID, _ := trace.TraceIDFromHex(parts[1]) // of an error, the id is invalid
	spanID, _ := trace.SpanIDFromHex(parts[2])
	flags, err := strconv.ParseUint(parts[3], 16, 8)
	sc = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags) & trace.FlagsSampled, Remote: true,
	})
	return sc, err == nil && sc.IsValid()
}

// Format writes a W3C traceparent; empty if there is no trace.
func Format(sc trace.SpanContext) string {
	if !sc.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags()&trace.FlagsSampled)
}

// ContextOf returns the trace and the span that created a Suite.
func ContextOf(s *v1alpha1.Suite) (sc trace.SpanContext, ok bool) {
	return Parse(s.Annotations[v1alpha1.AnnotationTraceparent])
}

// ContextOfTests returns the traceparent for the tests of a run, or "" if the Suite has no trace.
func ContextOfTests(s *v1alpha1.Suite) string {
	sc, ok := ContextOf(s)
	if !ok {
		return ""
	}
	return Format(sc.WithSpanID(spanID(s, testsStep)))
}

// Spans returns the spans of a finished run, parents first. jobCreated is zero if it had no Job.
func Spans(s *v1alpha1.Suite, jobCreated time.Time) []Span {
	sc, ok := ContextOf(s)
	if !ok || s.Status.CompletionTime == nil {
		return nil
	}
	received := s.Received().Time
	end := later(s.Status.CompletionTime.Time, received)
	run := Span{
		Name: "run " + s.Spec.Trigger.Name, ID: spanID(s, "run"), Parent: sc.SpanID(), Start: received, End: end, Attributes: attributes(s),
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil && !state.Of(s.State()).Green {
		run.Error = c.Message
	}
	return append([]Span{run}, steps(s, run, jobCreated)...)
}

// steps clamps the times of the Job and of the tests, because Kubernetes rounds them down to seconds.
func steps(s *v1alpha1.Suite, run Span, jobCreated time.Time) []Span {
	step := func(name string, start, end time.Time) Span {
		return Span{Name: name, ID: spanID(s, name), Parent: run.ID, Start: start, End: end}
	}
	if jobCreated.IsZero() {
		return []Span{step(queueStep, run.Start, run.End)}
	}
	created := earlier(later(jobCreated, run.Start), run.End)
	queue := step(queueStep, run.Start, created)
	if s.Status.StartTime == nil {
		return []Span{queue, step(startStep, created, run.End)}
	}
	started := earlier(later(s.Status.StartTime.Time, created), run.End)
	return []Span{queue, step(startStep, created, started), step(testsStep, started, run.End)}
}

func spanID(s *v1alpha1.Suite, step string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte(string(s.UID) + "/" + step))
	copy(id[:], sum[:])
	return id
}

func attributes(s *v1alpha1.Suite) []attribute.KeyValue {
	all := []attribute.KeyValue{
		semconv.CICDPipelineName(s.Spec.Trigger.Name),
		semconv.CICDPipelineRunID(s.Name),
		attribute.String("deployment.environment.name", s.Spec.Environment),
		semconv.K8SNamespaceName(s.Namespace),
		attribute.String("postflight.state", s.State()),
		attribute.Int("postflight.attempt", int(max(s.Spec.Attempt, 1))),
	}
	if result := state.Of(s.State()).Trace; result != "" {
		all = append(all, semconv.CICDPipelineResultKey.String(result))
	}
	if s.Status.JobName != "" {
		all = append(all, semconv.K8SJobName(s.Status.JobName))
	}
	if sha := s.Spec.Deployment.SHA; sha != "" {
		all = append(all, semconv.VCSRefHeadRevision(sha))
	}
	if branch := s.Spec.Deployment.Branch; branch != "" {
		all = append(all, semconv.VCSRefHeadName(branch))
	}
	return all
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

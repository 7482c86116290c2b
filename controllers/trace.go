package controllers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/runtrace"
)

// SendTrace sends the spans of a run. Its Suite was created in the given span.
type SendTrace func(created trace.SpanContext, spans []runtrace.Span)

// trace sends the spans of a run that has just ended. The end is written once, so its spans are sent once, or not at all
// if the manager is killed in between.
func (r *SuiteReconciler) trace(s *v1alpha1.Suite, j *batchv1.Job) {
	created, ok := runtrace.ContextOf(s)
	if r.Trace == nil || !ok || !s.Finished() {
		return
	}
	var jobCreated time.Time
	if j != nil {
		jobCreated = j.CreationTimestamp.Time
	}
	r.Trace(created, runtrace.Spans(s, jobCreated))
}

// observe adds a value, with the trace of the run as an exemplar if that is being recorded.
func observe(o prometheus.Observer, value float64, s *v1alpha1.Suite) {
	e, ok := o.(prometheus.ExemplarObserver)
	if sc, traced := runtrace.ContextOf(s); ok && traced && sc.IsSampled() {
		e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": sc.TraceID().String()})
		return
	}
	o.Observe(value)
}

package suite

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/runtrace"
)

// SendTrace sends the spans of a run. Its Suite was created in the given span.
type SendTrace func(created trace.SpanContext, spans []runtrace.Span)

// The end of a run is written once, so its spans are sent once, or not at all if the manager is killed in between.
func (r *Reconciler) trace(s *v1alpha1.Suite, j *batchv1.Job) {
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

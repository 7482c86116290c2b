package reconcile

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/runtrace"
)

// Observe adds a value, with the trace of the run as an exemplar if that is being recorded.
func Observe(o prometheus.Observer, value float64, s *v1alpha1.Suite) {
	e, ok := o.(prometheus.ExemplarObserver)
	if sc, traced := runtrace.ContextOf(s); ok && traced && sc.IsSampled() {
		e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": sc.TraceID().String()})
		return
	}
	o.Observe(value)
}

// maxNote is the API server's bound on the note of an event, in bytes.
const maxNote = 1024

// ClipNote shortens the note of an event.
func ClipNote(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
}

// NameOf is empty if a namespace has no Team.
func NameOf(t *v1alpha1.Team) string {
	if t == nil {
		return ""
	}
	return t.Name
}

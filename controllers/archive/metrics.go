package archive

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Metrics count and time what is saved of runs.
type Metrics struct {
	runs    *prometheus.CounterVec
	seconds prometheus.Histogram
	backlog atomic.Pointer[backlog] // of this term; nil: another replica leads
}

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_archive_runs_total",
			Help: "Runs whose record is in the object store: saved with all logs, or incomplete.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "postflight_archive_seconds",
			Help:    "Seconds from the end of a run until its record and logs are in the object store.",
			Buckets: prometheus.ExponentialBuckets(0.25, 4, 10), // a quarter of a second to 18 h
		}),
	}
	pending := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_archive_pending",
		Help: "Runs that have ended and are not in the object store yet.",
	}, m.pending)
	for _, c := range []prometheus.Collector{m.runs, m.seconds, pending} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	for _, reason := range []string{v1alpha1.ReasonSaved, v1alpha1.ReasonIncomplete} {
		m.runs.WithLabelValues(strings.ToLower(reason)) // to be 0 from the start
	}
	return m, nil
}

func (m *Metrics) pending() float64 {
	if b := m.backlog.Load(); b != nil {
		return b.len()
	}
	return 0
}

// EndTerm forgets what only a leader knows.
func (m *Metrics) EndTerm() { m.backlog.Store(nil) }

func (m *Metrics) archived(s *v1alpha1.Suite, c metav1.Condition, now time.Time) {
	m.runs.WithLabelValues(strings.ToLower(c.Reason)).Inc()
	if s.Status.CompletionTime != nil {
		m.seconds.Observe(max(0, now.Sub(s.Status.CompletionTime.Time).Seconds()))
	}
}

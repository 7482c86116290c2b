package deploymentgate

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/core/report"
)

// What came of a question of a code host, in metrics.
const (
	resultApproved = string(report.StateApproved)
	resultRejected = string(report.StateRejected)
	resultEnded    = "ended"  // the code host waited for no decision any more
	resultFailed   = "failed" // an attempt to send; it is repeated
)

// Metrics count decisions.
type Metrics struct{ reviews *prometheus.CounterVec }

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postflight_reviews_total",
		Help: "Deployments that code hosts asked about, by what they were told: approved, rejected, or ended without a decision; " +
			"failed counts attempts to tell them.",
	}, []string{"result"})}
	for _, result := range []string{resultApproved, resultRejected, resultEnded, resultFailed} {
		m.reviews.WithLabelValues(result) // to be 0 from the start
	}
	return m, registerer.Register(m.reviews)
}

func (m *Metrics) count(result string) { m.reviews.WithLabelValues(result).Inc() }

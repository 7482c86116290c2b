package endpoint

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics have labels of few values only: routes from the table, status codes, decisions.
type metrics struct {
	requests      *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	notifications *prometheus.CounterVec
	inFlight      prometheus.Gauge
	large         prometheus.Gauge
	held          prometheus.Gauge
	waiting       prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_http_requests_total",
			Help: "HTTP requests by route and status code.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "postflight_http_request_seconds",
			Help:    "Seconds from the receipt of an HTTP request to its answer, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 45, 60},
		}, []string{"route"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_notifications_total",
			Help: "Outcomes of notifications: one per matched Trigger, or no_match.",
		}, []string{"decision"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "postflight_http_requests_in_flight",
			Help: "HTTP requests that are being answered.",
		}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "postflight_http_requests_held",
			Help: "Notifications that wait for the API server to take their Suites.",
		}),
	}
	m.large = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postflight_http_requests_large",
		Help: "Notifications that are being answered and have a large body, or are dry runs.",
	})
	m.waiting = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postflight_http_requests_waiting",
		Help: "Requests that wait for a run to end.",
	})
	for _, d := range []decision{created, duplicate, failed, unknown, gone, noMatch} {
		m.notifications.WithLabelValues(string(d)) // so that a rate is there from the first one on
	}
	return m, m.register(r)
}

func (m *metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.notifications, m.inFlight, m.large, m.held, m.waiting} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register the metrics of the HTTP API: %w", err)
		}
	}
	return nil
}

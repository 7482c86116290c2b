package api

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics have labels with few values.
type metrics struct {
	requests      *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	notifications *prometheus.CounterVec
	artifacts     *prometheus.CounterVec
	events        *prometheus.CounterVec
	ofTeams       *prometheus.CounterVec
}

func newMetrics() *metrics {
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
		artifacts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_artifacts_total",
			Help: "Files that pods asked to upload: signed or refused.",
		}, []string{"decision"}),
	}
	m.events = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postflight_events_total",
		Help: "Events of other services for a source that is configured, by its type and what came of them: taken, ignored, not_verified or failed.",
	}, []string{"type", "outcome"})
	m.ofTeams = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postflight_team_requests_total",
		Help: "HTTP requests with a valid key, by team and class of the status code.",
	}, []string{"team", "class"})
	for _, d := range []string{artifactSigned, artifactRefused} {
		m.artifacts.WithLabelValues(d)
	}
	for _, d := range decisions {
		m.notifications.WithLabelValues(string(d)) // so that a rate exists from the first one on
	}
	return m
}

func (a *API) register() error {
	if a.Registerer == nil {
		return nil
	}
	m := a.metrics
	for _, c := range []prometheus.Collector{
		m.requests, m.seconds, m.notifications, m.artifacts, m.events, m.ofTeams,
		gauge("postflight_http_requests_in_flight", "HTTP requests that are being answered.", a.inFlight.InUse),
		gauge("postflight_http_requests_large", "Notifications that are being answered and have a large body, or are dry runs.", a.large.InUse),
		gauge("postflight_http_requests_held", "Notifications that wait for the API server to take their Suites.", a.Dispatcher.Retrying),
		gauge("postflight_http_requests_waiting", "Requests that wait for a run to end.", a.waiting.InUse),
		gauge("postflight_http_requests_listing", "Requests that list runs with those in the archive.", a.listing.InUse),
		gauge("postflight_http_requests_events", "Events of other services that are being answered.", a.events.InUse),
		gauge("postflight_http_requests_logs", "Logs that are being sent, by the API and to pages that follow them.", a.Runs.Sending.InUse),
	} {
		if err := a.Registerer.Register(c); err != nil {
			return fmt.Errorf("register the metrics of the HTTP API: %w", err)
		}
	}
	return nil
}

func gauge(name, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

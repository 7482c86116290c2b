package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Metrics are registered once, and outlive the terms in which the process leads.
type Metrics struct {
	suites   *SuiteMetrics
	reports  *ReportMetrics
	messages *AnnounceMetrics
	archive  *archiveMetrics
}

// NewMetrics registers the metrics. The cache is that of the manager.
func NewMetrics(registerer prometheus.Registerer, cache client.Reader) (*Metrics, error) {
	m, errs := &Metrics{}, [4]error{}
	m.suites, errs[0] = NewSuiteMetrics(registerer, cache)
	m.reports, errs[1] = NewReportMetrics(registerer)
	m.messages, errs[2] = NewAnnounceMetrics(registerer)
	m.archive, errs[3] = newArchiveMetrics(registerer)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("register the metrics of runs: %w", err)
	}
	return m, nil
}

// EndTerm resets what only a leader knows.
func (m *Metrics) EndTerm() { m.archive.backlog.Store(nil) }

// SuiteMetrics count and time the runs. Their only label is the state.
type SuiteMetrics struct {
	untilJob prometheus.Histogram
	untilEnd *prometheus.HistogramVec
}

// NewSuiteMetrics registers the metrics. Each scrape counts the Suites in the cache.
func NewSuiteMetrics(registerer prometheus.Registerer, cache client.Reader) (*SuiteMetrics, error) {
	m := &SuiteMetrics{
		untilJob: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "postflight_suite_start_seconds",
			Help:    "Seconds from the receipt of a notification to the Job of its run.",
			Buckets: prometheus.ExponentialBuckets(0.01, 3, 12), // 10 ms to 30 min
		}),
		untilEnd: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "postflight_suite_seconds",
			Help:    "Seconds from the receipt of a notification to the end of its run, by how it ended.",
			Buckets: prometheus.ExponentialBuckets(1, 2.5, 11), // 1 s to 2.6 h
		}, []string{"state"}),
	}
	for _, c := range []prometheus.Collector{m.untilJob, m.untilEnd, suiteCounts{cache}} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// started observes a run whose Job was created.
func (m *SuiteMetrics) started(s *v1alpha1.Suite, now time.Time) {
	observe(m.untilJob, sinceReceipt(s, now), s)
}

// sinceReceipt is not negative even if the clocks of the leader and the API server differ.
func sinceReceipt(s *v1alpha1.Suite, now time.Time) float64 {
	return max(0, now.Sub(s.Received().Time).Seconds())
}

// moved observes a run whose state changed. The time is an argument because the status has whole seconds only.
func (m *SuiteMetrics) moved(s *v1alpha1.Suite, now time.Time) {
	if s.Finished() {
		observe(m.untilEnd.WithLabelValues(s.State()), sinceReceipt(s, now), s)
	}
}

// suiteCounts counts the cached Suites by state at each scrape.
type suiteCounts struct{ cache client.Reader }

var suitesByState = prometheus.NewDesc("postflight_suites",
	"Suites that exist, by state. Queued is the length of the queue.", []string{"state"}, nil)

func (c suiteCounts) Describe(out chan<- *prometheus.Desc) { out <- suitesByState }

func (c suiteCounts) Collect(out chan<- prometheus.Metric) {
	list := &v1alpha1.SuiteList{}
	if err := c.cache.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(suitesByState, err)
		return
	}
	counts := map[string]int{}
	for i := range list.Items {
		counts[list.Items[i].State()]++
	}
	for _, state := range v1alpha1.States() {
		out <- prometheus.MustNewConstMetric(suitesByState, prometheus.GaugeValue, float64(counts[state]), state)
	}
}

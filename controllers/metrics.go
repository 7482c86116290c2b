package controllers

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Metrics are registered once, and outlive the terms in which the process leads.
type Metrics struct {
	suites   *SuiteMetrics
	reports  *ReportMetrics
	messages *AnnounceMetrics
	archive  *archiveMetrics
	leader   prometheus.Gauge
}

// NewMetrics registers the metrics. The cache is that of the manager.
func NewMetrics(registerer prometheus.Registerer, cache client.Reader, teams *fairness.Labels, clock clock.PassiveClock) (*Metrics, error) {
	m, errs := &Metrics{leader: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postflight_leader", Help: "1 while this replica leads, 0 otherwise.",
	})}, [6]error{}
	m.suites, errs[0] = NewSuiteMetrics(registerer, cache, teams)
	m.reports, errs[1] = NewReportMetrics(registerer)
	m.messages, errs[2] = NewAnnounceMetrics(registerer)
	m.archive, errs[3] = newArchiveMetrics(registerer)
	errs[4] = registerer.Register(m.leader)
	errs[5] = registerer.Register(keyExpiry{cache, teams, clock})
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return m, nil
}

// BeginTerm says that this process leads.
func (m *Metrics) BeginTerm() { m.leader.Set(1) }

// EndTerm resets what only a leader knows.
func (m *Metrics) EndTerm() {
	m.leader.Set(0)
	m.archive.backlog.Store(nil)
}

// SuiteMetrics count and time the runs.
type SuiteMetrics struct {
	untilJob prometheus.Histogram
	untilEnd *prometheus.HistogramVec
	ended    *prometheus.CounterVec
	teams    *fairness.Labels
}

// NewSuiteMetrics registers the metrics. Each scrape counts the Suites in the cache.
func NewSuiteMetrics(registerer prometheus.Registerer, cache client.Reader, teams *fairness.Labels) (*SuiteMetrics, error) {
	m := &SuiteMetrics{
		teams: teams,
		untilJob: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "postflight_suite_start_seconds",
			Help:    "Seconds from the receipt of a notification to the Job of its run.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800},
		}),
		untilEnd: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "postflight_suite_seconds",
			Help:    "Seconds from the receipt of a notification to the end of its run, by how it ended.",
			Buckets: []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400},
		}, []string{"state"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_team_runs_total",
			Help: "Runs that have ended, by team and by how they ended.",
		}, []string{"team", "state"}),
	}
	for _, state := range []string{
		v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut, v1alpha1.ReasonCanceled, v1alpha1.ReasonSuperseded, v1alpha1.ReasonError,
	} {
		m.untilEnd.WithLabelValues(state) // to be 0 from the start
	}
	for _, c := range []prometheus.Collector{m.untilJob, m.untilEnd, m.ended, suiteCounts{cache, teams}} {
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
func (m *SuiteMetrics) moved(s *v1alpha1.Suite, team *v1alpha1.Team, now time.Time) {
	if s.Finished() {
		observe(m.untilEnd.WithLabelValues(s.State()), sinceReceipt(s, now), s)
		m.ended.WithLabelValues(m.teams.Of(nameOf(team)), s.State()).Inc()
	}
}

// nameOf is empty if a namespace has no Team.
func nameOf(t *v1alpha1.Team) string {
	if t == nil {
		return ""
	}
	return t.Name
}

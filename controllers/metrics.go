package controllers

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/controllers/announce"
	"github.com/postflight-dev/postflight/controllers/archive"
	"github.com/postflight-dev/postflight/controllers/deploymentgate"
	"github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/controllers/tenancy"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Metrics are registered once, and outlive the terms in which the process leads.
type Metrics struct {
	suites   *suite.Metrics
	reports  *report.Metrics
	messages *announce.Metrics
	reviews  *deploymentgate.Metrics
	archive  *archive.Metrics
	leader   prometheus.Gauge
}

// NewMetrics registers the metrics. The cache is that of the manager.
func NewMetrics(registerer prometheus.Registerer, cache client.Reader, teams *fairness.Labels, clock clock.PassiveClock) (*Metrics, error) {
	m, errs := &Metrics{leader: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postflight_leader", Help: "1 while this replica leads, 0 otherwise.",
	})}, [7]error{}
	m.suites, errs[0] = suite.NewMetrics(registerer, cache, teams)
	m.reports, errs[1] = report.NewMetrics(registerer)
	m.messages, errs[2] = announce.NewMetrics(registerer)
	m.archive, errs[3] = archive.NewMetrics(registerer)
	errs[4] = registerer.Register(m.leader)
	errs[5] = registerer.Register(tenancy.NewKeyExpiry(cache, teams, clock))
	m.reviews, errs[6] = deploymentgate.NewMetrics(registerer)
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
	m.archive.EndTerm()
}

package suite

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/runtrace"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Metrics count and time the runs.
type Metrics struct {
	untilJob prometheus.Histogram
	untilEnd *prometheus.HistogramVec
	ended    *prometheus.CounterVec
	teams    *fairness.Labels
}

// NewMetrics registers the metrics. Each scrape counts the Suites in the cache.
func NewMetrics(registerer prometheus.Registerer, cache client.Reader, teams *fairness.Labels) (*Metrics, error) {
	m := &Metrics{
		teams: teams,
		untilJob: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "postflight_suite_start_seconds",
			Help: "Seconds from the receipt of a notification, the end of a hold, of settling or of a rollout that it waited for, to the Job " +
				"of its run.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800},
		}),
		untilEnd: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "postflight_suite_seconds",
			Help: "Seconds from the receipt of a notification, the end of a hold, of settling or of a rollout that it waited for, to the end " +
				"of its run, by how it ended.",
			Buckets: []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400},
		}, []string{"state"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_team_runs_total",
			Help: "Runs that have ended, by team and by how they ended.",
		}, []string{"team", "state"}),
	}
	for _, state := range v1alpha1.Ends() {
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
func (m *Metrics) started(s *v1alpha1.Suite, now time.Time) {
	observe(m.untilJob, waited(s, now), s)
}

// waited is not negative even if the clocks of the leader and the API server differ.
func waited(s *v1alpha1.Suite, now time.Time) float64 {
	if s.OnHold() || s.AwaitsDeployment() && !s.Finished() {
		return 0 // that has just ended
	}
	return max(0, now.Sub(waitsSince(s)).Seconds())
}

// waitsSince is the receipt of a run, the end of the last hold of its Environment or of its settling, or when that had its version: before,
// Postflight did not delay it.
func waitsSince(s *v1alpha1.Suite) time.Time {
	since := s.Received().Time
	for _, condition := range []string{v1alpha1.ConditionOnHold, v1alpha1.ConditionDeploymentReady} {
		if c := meta.FindStatusCondition(s.Status.Conditions, condition); c != nil && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

// moved observes a run whose state changed. The time is an argument because the status has whole seconds only.
func (m *Metrics) moved(s *v1alpha1.Suite, team *v1alpha1.Team, now time.Time) {
	if s.Finished() {
		observe(m.untilEnd.WithLabelValues(s.State()), waited(s, now), s)
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

// observe adds a value, with the trace of the run as an exemplar if that is being recorded.
func observe(o prometheus.Observer, value float64, s *v1alpha1.Suite) {
	e, ok := o.(prometheus.ExemplarObserver)
	if sc, traced := runtrace.ContextOf(s); ok && traced && sc.IsSampled() {
		e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": sc.TraceID().String()})
		return
	}
	o.Observe(value)
}

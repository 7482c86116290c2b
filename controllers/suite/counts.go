package suite

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

type suiteCounts struct {
	cache client.Reader
	teams *fairness.Labels
}

var (
	suitesByState = prometheus.NewDesc("postflight_suites",
		"Suites that exist, by state. Queued is the length of the queue.", []string{"state"}, nil)
	suitesByTeam = prometheus.NewDesc("postflight_team_suites",
		"Suites that have not ended, by team and state.", []string{"team", "state"}, nil)
	oldestQueued = prometheus.NewDesc("postflight_suites_oldest_queued_timestamp_seconds",
		"Since when the oldest queued Suite waits, in seconds since 1970: the receipt of its notification, or the end of a hold or of "+
			"settling; absent if all queued ones wait for that.", nil, nil)
)

func (c suiteCounts) Describe(out chan<- *prometheus.Desc) {
	out <- suitesByState
	out <- suitesByTeam
	out <- oldestQueued
}

func (c suiteCounts) Collect(out chan<- prometheus.Metric) {
	suites, err := index.SuitesWith(context.Background(), c.cache)
	if err != nil {
		out <- prometheus.NewInvalidMetric(suitesByState, err)
		return
	}
	n := count(suites)
	for _, state := range v1alpha1.States() {
		out <- prometheus.MustNewConstMetric(suitesByState, prometheus.GaugeValue, float64(n.byState[state]), state)
	}
	for key, suites := range c.byTeam(n.unfinished) {
		out <- prometheus.MustNewConstMetric(suitesByTeam, prometheus.GaugeValue, float64(suites), key.owner, key.state)
	}
	if !n.oldest.IsZero() {
		out <- prometheus.MustNewConstMetric(oldestQueued, prometheus.GaugeValue, float64(n.oldest.UnixMilli())/1000)
	}
}

type ownerState struct{ owner, state string }

type counts struct {
	byState    map[string]int
	unfinished map[ownerState]int // by namespace
	oldest     time.Time          // since when the oldest queued one waits, apart from those on hold, and those that wait for a rollout
}

func count(suites []*v1alpha1.Suite) counts {
	n := counts{byState: map[string]int{}, unfinished: map[ownerState]int{}}
	for _, s := range suites {
		state := s.State()
		n.byState[state]++
		if !s.Finished() {
			n.unfinished[ownerState{s.Namespace, state}]++
		}
		if since := waitsSince(s); state == v1alpha1.ReasonQueued && !s.OnHold() && !s.AwaitsDeployment() &&
			(n.oldest.IsZero() || since.Before(n.oldest)) {
			n.oldest = since
		}
	}
	return n
}

// A namespace whose Team is not known has no value either.
func (c suiteCounts) byTeam(byNamespace map[ownerState]int) map[ownerState]int {
	all := map[ownerState]int{}
	for key, suites := range byNamespace {
		team, _ := index.Owner(context.Background(), c.cache, key.owner)
		all[ownerState{c.teams.Of(nameOf(team)), key.state}] += suites
	}
	return all
}

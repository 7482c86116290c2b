package tenancy

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// KeyExpiry looks through the cached APIKeys at each scrape.
type KeyExpiry struct {
	cache client.Reader
	teams *fairness.Labels
	clock clock.PassiveClock
}

// NewKeyExpiry returns the collector of the metric.
func NewKeyExpiry(cache client.Reader, teams *fairness.Labels, clock clock.PassiveClock) KeyExpiry {
	return KeyExpiry{cache, teams, clock}
}

var nextExpiry = prometheus.NewDesc("postflight_team_key_expiry_timestamp_seconds",
	"When the next of the team's API keys that work stops working, in seconds since 1970; absent if none will.", []string{"team"}, nil)

// Describe names the metric.
func (k KeyExpiry) Describe(out chan<- *prometheus.Desc) { out <- nextExpiry }

// Collect reads the keys.
func (k KeyExpiry) Collect(out chan<- prometheus.Metric) {
	list := &v1alpha1.APIKeyList{}
	if err := k.cache.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(nextExpiry, err)
		return
	}
	byTeam := map[string]time.Time{}
	for namespace, expires := range nextExpiries(list.Items, k.clock.Now()) {
		team, err := index.Owner(context.Background(), k.cache, namespace)
		if err != nil || team == nil { // without a Team, the keys do not work
			continue
		}
		keepEarliest(byTeam, k.teams.Of(team.Name), expires)
	}
	for team, expires := range byTeam {
		out <- prometheus.MustNewConstMetric(nextExpiry, prometheus.GaugeValue, float64(expires.Unix()), team)
	}
}

func nextExpiries(keys []v1alpha1.APIKey, now time.Time) map[string]time.Time {
	next := map[string]time.Time{}
	for i := range keys {
		k := &keys[i]
		if k.Spec.ExpiresAt == nil || k.Spec.Suspended || k.DeletionTimestamp != nil || !now.Before(k.Spec.ExpiresAt.Time) {
			continue
		}
		keepEarliest(next, k.Namespace, k.Spec.ExpiresAt.Time)
	}
	return next
}

func keepEarliest(times map[string]time.Time, namespace string, t time.Time) {
	if earliest, found := times[namespace]; !found || t.Before(earliest) {
		times[namespace] = t
	}
}

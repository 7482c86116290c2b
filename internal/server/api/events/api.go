// Package events takes the events that senders such as GitHub deliver to EventSources and to the GitHub App.
package events

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/events"
)

// API serves the routes of events.
type API struct {
	*exchange.Server
	Receiver *events.Receiver // nil: none are taken

	events     *fairness.TeamLimiter
	unverified *bodyBudget
	reserved   *bodyBudget // of sources that verified an event lately
	refusals   *refusals
	received   *prometheus.CounterVec
}

// New returns the routes of events.
func New(s *exchange.Server, receiver *events.Receiver) *API {
	return &API{
		Server: s, Receiver: receiver, events: fairness.NewTeamLimiter(s.Limits.Events),
		unverified: newBodyBudget(s.Limits.UnverifiedBytes), reserved: newBodyBudget(s.Limits.UnverifiedBytes),
		refusals: newRefusals(s.Clock),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_events_total",
			Help: "Events for a source that is configured, by its type and what came of them: taken, ignored, not_verified or failed.",
		}, []string{"type", "outcome"}),
	}
}

// Collectors are the metrics of events.
func (a *API) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		a.received,
		exchange.Gauge("postflight_http_requests_events", "Events of senders such as GitHub that are being answered.", a.events.InUse),
	}
}

// What came of events, in metrics.
const (
	eventTaken       = "taken"
	eventIgnored     = "ignored"
	eventNotVerified = "not_verified" // by a signature
	eventFailed      = "failed"
)

func (a *API) count(source v1alpha1.EventSourceType, outcome string) {
	a.received.WithLabelValues(string(source), outcome).Inc()
}

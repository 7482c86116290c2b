// Package notifications takes notifications of deployments and of Environments that end, and tries Triggers on past ones.
package notifications

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// WaitTokens are auth.WaitTokens.
type WaitTokens interface {
	Issue(ctx context.Context, sender auth.Principal, runs []string) (token string, expires time.Time, err error)
}

// API serves the routes of notifications.
type API struct {
	*exchange.Server
	Dispatcher *dispatch.Dispatcher
	WaitTokens WaitTokens // nil: there are none
	Replays    Replayer   // nil if no store is configured
	PublicURL  string     // see api.Config
	// Judge returns why the deployment of an event starts nothing in a namespace; nil: no events are taken.
	Judge func(ctx context.Context, namespace string, e event.Event) (problem string, err error)
	// Remember is told which cluster has a run.
	Remember func(namespace, run, cluster string)
}

// Collectors are the metrics of notifications.
func (a *API) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		exchange.Gauge("postflight_http_requests_held", "Notifications that wait for the API server to take their Suites.",
			a.Dispatcher.Retrying),
	}
}

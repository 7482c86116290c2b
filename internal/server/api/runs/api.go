// Package runs serves runs with their logs, results, files and verdict, and cancels and reruns them.
package runs

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/failures"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// API serves the routes of runs.
type API struct {
	*exchange.Server
	Runs       *runs.Reader
	Dispatcher *dispatch.Dispatcher
	Failures   *failures.Reader
	PublicURL  string // see api.Config

	AttestationKeys func() []byte // see api.Config

	Waiting *fairness.TeamLimiter
}

// New returns the routes of runs.
func New(
	s *exchange.Server, r *runs.Reader, f *failures.Reader, d *dispatch.Dispatcher, publicURL string, attestationKeys func() []byte,
) *API {
	return &API{
		Server: s, Runs: r, Failures: f, Dispatcher: d, PublicURL: publicURL, AttestationKeys: attestationKeys,
		Waiting: fairness.NewTeamLimiter(s.Limits.Waiting),
	}
}

// Collectors are the metrics of runs.
func (a *API) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		exchange.Gauge("postflight_http_requests_waiting", "Requests that wait for a run to end.", a.Waiting.InUse),
		exchange.Gauge("postflight_http_requests_logs", "Logs that are being sent, by the API and to pages that follow them.",
			a.Runs.Sending.InUse),
	}
}

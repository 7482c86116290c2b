// Package verdicts serves whether a commit is green in an Environment, and starts what is missing for that.
package verdicts

import (
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// Config is what the routes need besides the server; see api.Config.
type Config struct {
	Reader     *verdicts.Reader
	Dispatcher *dispatch.Dispatcher
	Changes    *runs.Broadcaster
	Waiting    *fairness.TeamLimiter // of all requests that wait
	PublicURL  string
}

// API serves the routes of verdicts.
type API struct {
	*exchange.Server
	Config
}

// New returns the routes of verdicts.
func New(s *exchange.Server, c Config) *API { return &API{Server: s, Config: c} }

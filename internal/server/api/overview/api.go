// Package overview serves what a team has besides runs: its Environments with their deployments, and how its tests do.
package overview

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

// Config is what the routes need besides the server; see api.Config.
type Config struct {
	Cache       client.Reader
	Deployments environments.Archive
	Tests       *history.Reader
	Newest      func(namespace string) []*v1alpha1.Suite // of a runs.Reader
	PublicURL   string
}

// API serves the routes of Environments and tests.
type API struct {
	*exchange.Server
	Config
	earlier *environments.Reader
}

// New returns the routes of Environments and tests.
func New(s *exchange.Server, c Config) *API {
	return &API{Server: s, Config: c,
		earlier: &environments.Reader{Cache: c.Cache, Archive: c.Deployments, LookupTimeout: s.Limits.LookupTimeout}}
}

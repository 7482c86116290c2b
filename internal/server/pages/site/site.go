// Package site answers requests of browsers: it knows their readers, bounds what they take, renders pages, and keeps them live.
package site

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/live"
	"github.com/postflight-dev/postflight/internal/server/origin"
	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

// Authenticator is signin.People. Its errors have a method HTTPStatus() int, which returns 401, 403 or 503.
type Authenticator interface {
	SignIn(ctx context.Context, key string) (signin.Identity, error)
	FromProxy(r *http.Request) (id signin.Identity, ok bool)
	Access(ctx context.Context, id signin.Identity) (signin.Access, error)
}

// Config is what a Site needs; see pages.Config.
type Config struct {
	Cache         client.Reader
	Authenticator Authenticator
	SealingKey    func(context.Context) ([]byte, error)
	Authenticated func(ctx context.Context, team string)
	PublicURL     string
	Hosts         []string
	Limits        Limits
	SendingLogs   *fairness.TeamLimiter
	Log           logr.Logger
	Audit         *slog.Logger
	Clock         clock.PassiveClock
}

// Site serves pages.
type Site struct {
	Config
	Public  publicurl.URL
	Sealer  seal.Sealer
	Changes *live.Broadcaster
	Streams live.Config
	Archive *fairness.TeamLimiter
	Reading *fairness.TeamLimiter

	hosts     origin.Hosts
	versions  *live.Versions
	paces     *live.Paces
	rendering *fairness.TeamLimiter
	streaming *fairness.TeamLimiter
	unsent    *fairness.TeamLimiter
	sending   *fairness.TeamLimiter
	visiting  *fairness.TeamLimiter

	// These are set before the first request.
	Mux       http.Handler
	Templates map[string]*template.Template
	Icon      func(key string) string // the path of the icon of a state, or of Postflight's own
	FileOwner func(r *Request) string // the namespace of a request for a file of a run, or ""
}

// New returns a Site without routes.
func New(c Config) (*Site, error) {
	s := &Site{
		Config: c, Changes: live.NewBroadcaster(), versions: live.NewVersions(), paces: live.NewPaces(c.Limits.Renders),
		rendering: fairness.NewTeamLimiter(c.Limits.Rendering), streaming: fairness.NewTeamLimiter(c.Limits.Streaming),
		unsent: fairness.NewTeamLimiter(c.Limits.Unsent), sending: fairness.NewTeamLimiter(c.Limits.Sending),
		Archive: fairness.NewTeamLimiter(c.Limits.Archive), Reading: fairness.NewTeamLimiter(c.Limits.Reading),
		visiting: fairness.NewTeamLimiter(c.Limits.Visiting),
	}
	s.Sealer.Secret = s.secret
	s.Streams = live.Config{Unsent: s.unsent, Heartbeat: c.Limits.Heartbeat, WriteTimeout: c.Limits.WriteTimeout, Clock: c.Clock}
	return s, s.setPublic()
}

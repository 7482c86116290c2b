// Package api is the HTTP API: its routes, and who may use them. The packages below it serve the routes of one topic each; limits has all
// limits, exchange what the topics share.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/api/events"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/files"
	"github.com/postflight-dev/postflight/internal/server/api/handon"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/api/notifications"
	"github.com/postflight-dev/postflight/internal/server/api/overview"
	"github.com/postflight-dev/postflight/internal/server/api/runs"
	"github.com/postflight-dev/postflight/internal/server/api/verdicts"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
	eventscase "github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/internal/usecase/failures"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	runscase "github.com/postflight-dev/postflight/internal/usecase/runs"
	verdictscase "github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// Config is what the API needs.
type Config struct {
	Dispatcher *dispatch.Dispatcher
	// Cache reads Suites without asking the API server; it has the indexes of index.Setup.
	Cache client.Reader

	Live client.Reader
	// Authenticate returns errors with a method HTTPStatus() int, which is 401, 403 or 503; so does AuthenticatePod.
	Authenticate func(*http.Request, ...grant.Action) (auth.Principal, error)
	// WaitTokens are for senders without an API key; nil: there are none.
	WaitTokens notifications.WaitTokens
	// Authenticated is called for each authenticated request.
	Authenticated   func(ctx context.Context, team string)
	AuthenticatePod func(*http.Request) (podfiles.Pod, error)
	// Events takes the events of senders such as GitHub; nil: none are taken.
	Events *eventscase.Receiver
	// Uploads signs URLs to upload files; nil if no store is configured.
	Uploads files.Uploads
	// Artifacts signs URLs for what tests write; nil if no store is configured.
	Artifacts podfiles.Store
	// Runs is told about every change of a Suite.
	Runs *runscase.Reader
	// Deployments reads past deployments; nil if no store is configured.
	Deployments environments.Archive
	// Tests have their history; nil if no store is configured.
	Tests *history.Reader
	// Replays are of past notifications; nil if no store is configured.
	Replays notifications.Replayer
	// Clusters answer for Environments that are there; nil: there are none.
	Clusters handon.Clusters
	// PublicURL starts the links in answers; empty: they are paths. The Host header is not used, because a sender could choose the link.
	PublicURL string
	Limits    limits.Limits
	// TeamLabel returns the label of a team in metrics, which must have few values.
	Registerer prometheus.Registerer
	TeamLabel  func(team string) string
	// Tracer starts the spans of requests that create runs; nil: the sender's trace is ignored.
	Tracer trace.Tracer
	// AttestationKeys returns the public keys of signed verdicts in PEM, the current one first; nothing: verdicts are not signed.
	AttestationKeys func() []byte
	// Audit gets a line per authenticated request.
	Log   logr.Logger
	Audit *slog.Logger

	Clock clock.PassiveClock // of this replica
}

// API answers HTTP requests.
type API struct {
	Config
	Server *exchange.Server
	Topics Topics
	mux    *http.ServeMux
}

// Topics serve the routes.
type Topics struct {
	Notifications *notifications.API
	Events        *events.API
	Runs          *runs.API
	Files         *files.API
	Overview      *overview.API
	Verdicts      *verdicts.API
	HandOn        *handon.API
}

// New returns an API with its routes and metrics.
func New(c Config) (*API, error) {
	if c.Dispatcher == nil || c.Cache == nil || c.Live == nil || c.Authenticate == nil || c.AuthenticatePod == nil ||
		c.Authenticated == nil || c.Audit == nil || c.Clock == nil || c.Runs == nil {
		return nil, errors.New("the HTTP API needs a dispatcher, a cache, a live reader, authenticators, a reader of runs, an audit log and " +
			"a clock")
	}
	if c.TeamLabel == nil {
		c.TeamLabel = func(string) string { return "" }
	}
	if c.AttestationKeys == nil {
		c.AttestationKeys = func() []byte { return nil }
	}
	server := exchange.New(exchange.Config{
		Authenticated: c.Authenticated, TeamLabel: c.TeamLabel, Limits: c.Limits, Tracer: c.Tracer, Log: c.Log, Audit: c.Audit, Clock: c.Clock,
	})
	a := &API{Config: c, Server: server, Topics: Topics{
		Notifications: &notifications.API{
			Server: server, Dispatcher: c.Dispatcher, WaitTokens: c.WaitTokens, Replays: c.Replays, PublicURL: c.PublicURL,
		},
		Events: events.New(server, c.Events),
		Runs:   runs.New(server, c.Runs, c.failures(), c.Dispatcher, c.PublicURL, c.AttestationKeys),
		Files: files.New(server, files.Config{Uploads: c.Uploads, AuthenticatePod: c.AuthenticatePod, Pods: podfiles.Config{
			Store: c.Artifacts, Runs: c.Runs, Cache: c.Cache, Live: c.Live, LookupTimeout: c.Limits.LookupTimeout,
		}}),
		Overview: overview.New(server, overview.Config{
			Cache: c.Cache, Deployments: c.Deployments, Tests: c.Tests, Newest: c.Runs.Newest, PublicURL: c.PublicURL,
		}),
	}}
	a.Topics.Verdicts = verdicts.New(server, verdicts.Config{
		Reader: a.verdictReader(), Dispatcher: c.Dispatcher, Changes: c.Runs.Changes, Waiting: a.Topics.Runs.Waiting, PublicURL: c.PublicURL,
	})
	a.Topics.HandOn = handon.New(server, handon.Config{Clusters: c.Clusters, Cache: c.Cache, Runs: c.Runs, Waiting: a.Topics.Runs.Waiting})
	if c.Events != nil {
		a.Topics.Notifications.Judge = c.Events.Problem
	}
	a.Topics.Notifications.Remember = a.Topics.HandOn.Remember
	a.Handle(a.Routes())
	return a, a.register()
}

func (a *API) verdictReader() *verdictscase.Reader {
	return &verdictscase.Reader{
		Cache: a.Cache, LeftOut: a.Dispatcher.LeftOut, Now: func() time.Time { return a.Dispatcher.ServerTime(a.Clock.Now()) },
	}
}

func (c Config) failures() *failures.Reader {
	return &failures.Reader{Runs: c.Runs, Tests: c.Tests, PublicURL: c.PublicURL, Environments: &environments.Reader{
		Cache: c.Cache, Archive: c.Deployments, LookupTimeout: c.Limits.LookupTimeout,
	}}
}

func (a *API) register() error {
	if a.Registerer == nil {
		return nil
	}
	for _, collectors := range [][]prometheus.Collector{
		a.Server.Collectors(), a.Topics.Notifications.Collectors(), a.Topics.Events.Collectors(), a.Topics.Runs.Collectors(),
		a.Topics.Files.Collectors(), a.Topics.HandOn.Collectors(),
	} {
		for _, c := range collectors {
			if err := a.Registerer.Register(c); err != nil {
				return fmt.Errorf("register the metrics of the HTTP API: %w", err)
			}
		}
	}
	return nil
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mux.ServeHTTP(w, exchange.Clean(r))
}

// Drain ends all waits, because the server is about to stop.
func (a *API) Drain() { a.Runs.Changes.Close() }

package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// WaitTokens are auth.WaitTokens.
type WaitTokens interface {
	Issue(ctx context.Context, sender auth.Principal, runs []string) (token string, expires time.Time, err error)
}

// Config is what the API needs.
type Config struct {
	Dispatcher *dispatch.Dispatcher
	// Cache reads Suites without asking the API server; it has the indexes of index.Setup.
	Cache client.Reader

	Live client.Reader
	// Authenticate returns errors with a method HTTPStatus() int, which is 401, 403 or 503; so does AuthenticatePod.
	Authenticate func(*http.Request, ...grant.Action) (auth.Principal, error)
	// WaitTokens are for senders without an API key; nil: there are none.
	WaitTokens WaitTokens
	// Authenticated is called for each authenticated request.
	Authenticated   func(ctx context.Context, team string)
	AuthenticatePod func(*http.Request) (podfiles.Pod, error)
	// Events takes those of other services; nil: none are taken.
	Events *events.Receiver
	// Uploads signs URLs to upload files; nil if no store is configured.
	Uploads Uploads
	// Artifacts signs URLs for what tests write; nil if no store is configured.
	Artifacts podfiles.Store
	// Runs is told about every change of a Suite.
	Runs *runs.Reader
	// Deployments are those of the past; nil if no store is configured.
	Deployments environments.Archive
	// Tests have their history; nil if no store is configured.
	Tests *history.Reader
	// Replays are of past notifications; nil if no store is configured.
	Replays Replayer
	// PublicURL starts the links in answers; empty: they are paths. The Host header is not used, because a sender could choose the link.
	PublicURL string
	Limits    Limits
	// TeamLabel returns the label of a team in metrics, which must have few values.
	Registerer prometheus.Registerer
	TeamLabel  func(team string) string
	// Tracer starts the spans of requests that create runs; nil: the sender's trace is ignored.
	Tracer trace.Tracer
	// Audit gets a line per authenticated request.
	Log   logr.Logger
	Audit *slog.Logger

	Clock clock.PassiveClock // of this replica
}

// API answers HTTP requests.
type API struct {
	Config
	metrics    *metrics
	mux        *http.ServeMux
	inFlight   *fairness.TeamLimiter
	large      *fairness.TeamLimiter
	waiting    *fairness.TeamLimiter
	collects   *fairness.Semaphore
	listing    *fairness.TeamLimiter
	events     *fairness.TeamLimiter
	signer     *podfiles.Signer
	unverified *bodyBudget
	reserved   *bodyBudget // of sources that verified an event lately
	refusals   *refusals
	earlier    *environments.Reader
}

// New returns an API with its routes and metrics.
func New(c Config) (*API, error) {
	if c.Dispatcher == nil || c.Cache == nil || c.Live == nil || c.Authenticate == nil || c.AuthenticatePod == nil ||
		c.Authenticated == nil || c.Audit == nil || c.Clock == nil || c.Runs == nil {
		return nil, errors.New("the HTTP API needs a dispatcher, a cache, a live reader, authenticators, a reader of runs, an audit log and a clock")
	}
	if c.TeamLabel == nil {
		c.TeamLabel = func(string) string { return "" }
	}
	a := &API{
		Config:     c,
		metrics:    newMetrics(),
		inFlight:   fairness.NewTeamLimiter(c.Limits.InFlight),
		large:      fairness.NewTeamLimiter(c.Limits.Large),
		waiting:    fairness.NewTeamLimiter(c.Limits.Waiting),
		collects:   fairness.NewSemaphore(c.Limits.Collecting),
		listing:    fairness.NewTeamLimiter(c.Limits.Listing),
		events:     fairness.NewTeamLimiter(c.Limits.Events),
		unverified: newBodyBudget(c.Limits.UnverifiedBytes), reserved: newBodyBudget(c.Limits.UnverifiedBytes),
		refusals: newRefusals(c.Clock),
		signer: podfiles.New(podfiles.Config{
			Store: c.Artifacts, Runs: c.Runs, Cache: c.Cache, Live: c.Live, LookupTimeout: c.Limits.LookupTimeout,
		}),
		earlier: &environments.Reader{Cache: c.Cache, Archive: c.Deployments, LookupTimeout: c.Limits.LookupTimeout},
	}
	a.mux = a.newMux(a.routes())
	return a, a.register()
}

// Drain ends all waits, because the server is about to stop.
func (a *API) Drain() { a.Runs.Changes.Close() }

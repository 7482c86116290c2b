package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Principal is who makes a request. Both objects are shared: read them, never change them.
type Principal struct {
	Team *v1alpha1.Team
	Key  *v1alpha1.APIKey // nil: a pod of the team makes it
}

// Config is what the API needs.
type Config struct {
	// Dispatcher creates Suites.
	Dispatcher *dispatch.Dispatcher

	// Cache reads Suites without asking the API server; it has the indexes of index.Setup.
	Cache client.Reader

	// Live reads from the API server.
	Live client.Reader

	// Authenticate finds out who makes a request. An error with a method HTTPStatus() int is answered with
	// that status: 401, 403 or 503.
	Authenticate func(*http.Request) (Principal, error)

	// Authenticated is called with the context and the team of each request that is authenticated.
	Authenticated func(ctx context.Context, team string)

	// AuthenticatePod finds the pod that a request comes from. Its errors are like those of Authenticate.
	AuthenticatePod func(*http.Request) (podfiles.Pod, error)

	// Uploads signs URLs to upload files; nil if no store is configured.
	Uploads Uploads

	// Artifacts signs URLs for what tests write; nil if no store is configured.
	Artifacts podfiles.Store

	// Runs reads runs and what they left behind. It hears of every change of a Suite.
	Runs *runs.Reader

	// PublicURL starts the links in answers. Without it they are paths, for the client to resolve against
	// the address that it used. They never start with what a request names: anyone who can choose its Host
	// header could make a pipeline print a link to a page of their own.
	PublicURL string

	// Limits are DefaultLimits() or others.
	Limits Limits

	// Registerer takes the metrics. TeamLabel is how they name a team, with few values.
	Registerer prometheus.Registerer
	TeamLabel  func(team string) string

	// Tracer starts the spans of requests that create runs; nil: traces are off, and the sender's trace is ignored.
	Tracer trace.Tracer

	// Log is for operators. Audit gets one line per authenticated request.
	Log   logr.Logger
	Audit *slog.Logger

	// Clock is that of this replica.
	Clock clock.PassiveClock
}

// API answers HTTP requests.
type API struct {
	Config
	metrics  *metrics
	mux      *http.ServeMux
	inFlight *fairness.TeamLimiter
	large    *fairness.TeamLimiter
	waiting  *fairness.TeamLimiter
	collects *fairness.Semaphore
	listing  *fairness.TeamLimiter
	signer   *podfiles.Signer
}

// New is an API with its routes; cmd/manager serves it.
func New(c Config) (*API, error) {
	if c.Dispatcher == nil || c.Cache == nil || c.Live == nil || c.Authenticate == nil || c.AuthenticatePod == nil ||
		c.Authenticated == nil || c.Audit == nil || c.Clock == nil || c.Runs == nil {
		return nil, errors.New("the HTTP API needs a dispatcher, a cache, a live reader, authenticators, a reader of runs, an audit log and a clock")
	}
	if c.TeamLabel == nil {
		c.TeamLabel = func(string) string { return "" }
	}
	a := &API{
		Config:   c,
		metrics:  newMetrics(),
		inFlight: fairness.NewTeamLimiter(c.Limits.InFlight),
		large:    fairness.NewTeamLimiter(c.Limits.Large),
		waiting:  fairness.NewTeamLimiter(c.Limits.Waiting),
		collects: fairness.NewSemaphore(c.Limits.Collecting),
		listing:  fairness.NewTeamLimiter(c.Limits.Listing),
		signer: podfiles.New(podfiles.Config{
			Store: c.Artifacts, Runs: c.Runs, Cache: c.Cache, Live: c.Live, LookupTimeout: c.Limits.LookupTimeout,
		}),
	}
	a.mux = a.newMux(a.routes())
	return a, a.register()
}

// Drain answers the requests that wait, and the later ones without a wait: the server is about to stop.
func (a *API) Drain() { a.Runs.Changes.Close() }

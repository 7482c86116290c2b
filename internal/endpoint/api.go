package endpoint

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/match"
	"github.com/postflight-dev/postflight/internal/notification"
	"github.com/postflight-dev/postflight/internal/sleep"
)

// Principal is who makes a request. Both objects are shared: read them, never change them.
type Principal struct {
	Team *v1alpha1.Team
	Key  *v1alpha1.APIKey
}

// Matcher finds the Triggers of a namespace that want a notification, ordered by name.
type Matcher interface {
	// Match ends with a *match.StoppedError where stop says so.
	Match(namespace string, n *notification.Notification, stop func() bool) ([]*v1alpha1.Trigger, error)
	// Explain skips the rest once stop says so.
	Explain(namespace string, n *notification.Notification, stop func() bool) iter.Seq[match.Explanation]
}

// Config is what the API needs.
type Config struct {
	// Cache reads Environments and Suites without asking the API server; it has the
	// indexes of index.Setup.
	Cache client.Reader

	// Live asks the API server.
	Live client.Reader

	// Writer creates Suites and ephemeral Environments.
	Writer client.Writer

	// Authenticate finds who makes a request. An error with a method HTTPStatus() int says what the
	// client is told: 401, 403 or 503.
	Authenticate func(*http.Request) (Principal, error)

	// Authenticated is told whose connection a request is on, once that is known. May be nil.
	Authenticated func(ctx context.Context, team string)

	// ServerTime is the API server's time at a time of Now, for times that are stored: replicas whose
	// clocks differ must agree on them. Nil: the clocks are the same.
	ServerTime func(time.Time) time.Time

	// Triggers finds the Triggers that a notification starts.
	Triggers Matcher

	// Uploads signs URLs to upload files; nil where no store is configured.
	Uploads Uploads

	// PublicURL starts the links in answers. Without it they are paths, for the client to resolve against
	// the address that it used. They never start with what a request names: whoever can choose its Host
	// header could have a pipeline print a link to a page of theirs.
	PublicURL string

	// Limits are DefaultLimits() or others.
	Limits Limits

	// Registerer takes the metrics.
	Registerer prometheus.Registerer

	// Log is for operators. Audit gets one line per authenticated request.
	Log   logr.Logger
	Audit *slog.Logger

	// Now, Sleep and Jitter are the clock and the dice: time.Now, a timer, and a number in [0, 1).
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Jitter func() float64
}

// API answers HTTP requests.
type API struct {
	Config
	metrics  *metrics
	mux      *http.ServeMux
	inFlight *gate
	large    *gate
	held     *gate
	waiting  *gate
	turns    *turns
	hub      *hub
	suites   *suiteCounter
}

// New is an API with its routes; cmd/manager serves it.
func New(c Config) (*API, error) {
	if c.Cache == nil || c.Live == nil || c.Writer == nil || c.Authenticate == nil || c.Triggers == nil {
		return nil, errors.New("the HTTP API needs a cache, a live reader, a writer, an authenticator and the triggers")
	}
	c.setDefaults()
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, err
	}
	a := &API{
		Config:   c,
		metrics:  m,
		inFlight: newGate(c.Limits.InFlight, m.inFlight),
		large:    newGate(c.Limits.Large, m.large),
		held:     newGate(c.Limits.Held, m.held),
		waiting:  newGate(c.Limits.Waiting, m.waiting),
		turns:    newTurns(runtime.GOMAXPROCS(0)),
		hub:      newHub(),
		suites:   newSuiteCounter(),
	}
	a.mux = a.newMux()
	return a, nil
}

func (c *Config) setDefaults() {
	if c.Authenticated == nil {
		c.Authenticated = func(context.Context, string) {}
	}
	if c.ServerTime == nil {
		c.ServerTime = func(t time.Time) time.Time { return t }
	}
	if c.Audit == nil {
		c.Audit = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep.For
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
}

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/auth"
	"github.com/postflight-dev/postflight/internal/dispatch"
	"github.com/postflight-dev/postflight/internal/endpoint"
	"github.com/postflight-dev/postflight/internal/match"
	"github.com/postflight-dev/postflight/internal/objectstore"
	"github.com/postflight-dev/postflight/internal/podlogs"
	"github.com/postflight-dev/postflight/internal/runs"
	"github.com/postflight-dev/postflight/internal/serve"
	"github.com/postflight-dev/postflight/internal/ui"
)

// drainTimeout lets requests end that wait for the API server.
func drainTimeout(o options) time.Duration { return o.holdBudget + 5*time.Second }

// setupHTTP adds the HTTP API, which every replica serves.
func setupHTTP(
	ctx context.Context, mgr ctrl.Manager, o options, bucket *objectstore.Bucket, probe *auth.APIServerProbe, in surroundings, ready checks,
	secure *tls.Config,
) error {
	authenticator, err := setupAuth(mgr, probe, serverClock{in.steady, probe})
	if err != nil {
		return err
	}
	writer, err := newWriter(mgr)
	if err != nil {
		return err
	}
	dispatcher, triggersSynced, err := setupDispatcher(ctx, mgr, o, probe, in, writer)
	if err != nil {
		return err
	}
	reader, err := newReader(mgr, bucket)
	if err != nil {
		return err
	}
	api, err := endpoint.New(endpoint.Config{
		Dispatcher:      dispatcher,
		Cache:           mgr.GetCache(),
		Live:            mgr.GetAPIReader(),
		Authenticate:    authenticate(authenticator),
		AuthenticatePod: authenticatePod(writer, in.steady),
		Authenticated:   serve.Authenticated,
		Clock:           in.steady,
		Uploads:         uploads(bucket),
		Artifacts:       artifacts(bucket),
		PublicURL:       o.publicURL,
		Limits:          endpoint.DefaultLimits(),
		Registerer:      in.metrics,
		TeamLabel:       in.teams.Of,
		Log:             ctrl.Log.WithName("http"),
		Audit:           slog.New(slog.NewJSONHandler(os.Stdout, nil)),
		Runs:            reader,
		Tracer:          in.traces.Tracer(),
	})
	if err != nil {
		return err
	}
	pages, err := setupPages(ctx, mgr, o, authenticator, dispatcher, reader, in)
	if err != nil {
		return err
	}
	suitesSynced, err := dispatcher.WatchSuites(ctx, mgr.GetCache(), func(before, after *v1alpha1.Suite) {
		reader.SuiteChanged(before, after)
		if s := cmp.Or(after, before); s != nil {
			pages.Changed(s.Namespace)
		}
	})
	if err = errors.Join(err, cacheEnvironments(ctx, mgr.GetCache()), watchForPages(ctx, mgr.GetCache(), pages)); err != nil {
		return err
	}
	// A replica that answers sooner does not know all Triggers and Suites, and may store a wrong time.
	synced := func() bool { return triggersSynced() && suitesSynced() && probe.Measured() }
	return addServer(mgr, api, pages, o, synced, ready, secure)
}

// newReader reads runs for the HTTP API and for the pages.
func newReader(mgr ctrl.Manager, bucket *objectstore.Bucket) (*runs.Reader, error) {
	logs, err := podlogs.New(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	return runs.New(runs.Config{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), PodLogs: logs, Archive: pastRuns(bucket), Limits: runs.DefaultLimits(),
	})
}

// setupDispatcher also returns whether all Triggers that existed at the start are known.
func setupDispatcher(
	ctx context.Context, mgr ctrl.Manager, o options, probe *auth.APIServerProbe, in surroundings, writer client.Client,
) (*dispatch.Dispatcher, func() bool, error) {
	triggers := &match.Index{}
	synced, err := controllers.WatchTriggers(ctx, mgr.GetCache(), triggers)
	if err != nil {
		return nil, nil, err
	}
	dispatcher, err := dispatch.New(dispatch.Config{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Writer: writer, Triggers: triggers,
		Budget: o.holdBudget, Limits: dispatch.DefaultLimits(), ServerTime: probe.ServerTime, Clock: in.steady,
		Tracer: in.traces.Tracer(),
	})
	return dispatcher, synced, err
}

// newWriter creates a client of its own: the manager's makes reads wait for writes, and answers must not wait.
func newWriter(mgr ctrl.Manager) (client.Client, error) {
	writer, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("create the client of the HTTP API: %w", err)
	}
	return writer, nil
}

// cacheEnvironments fills the cache before the first notification, which would otherwise wait for it: forever, if
// the API server is away.
func cacheEnvironments(ctx context.Context, c cache.Cache) error {
	_, err := c.GetInformer(ctx, &v1alpha1.Environment{}, cache.BlockUntilSynced(false))
	return err
}

func setupAuth(mgr ctrl.Manager, probe *auth.APIServerProbe, clock clock.PassiveClock) (*auth.Authenticator, error) {
	usage := auth.NewUsage(mgr.GetClient(), clock)
	if err := mgr.Add(usage); err != nil {
		return nil, err
	}
	return &auth.Authenticator{Config: auth.Config{
		Reader: mgr.GetCache(), Staleness: probe.Staleness, Used: usage.Record, Clock: clock,
	}}, nil
}

// authenticate is what the HTTP API needs of the authenticator.
func authenticate(a *auth.Authenticator) func(*http.Request) (endpoint.Principal, error) {
	return func(r *http.Request) (endpoint.Principal, error) {
		p, err := a.Authenticate(r.Context(), r)
		return endpoint.Principal(p), err
	}
}

// authenticatePod needs a client without a cache: the API server answers a token with the result of its check.
func authenticatePod(c client.Client, clock clock.PassiveClock) func(*http.Request) (endpoint.Pod, error) {
	authenticator := auth.NewPodAuthenticator(c, clock)
	return func(r *http.Request) (endpoint.Pod, error) {
		p, err := authenticator.Authenticate(r.Context(), r)
		return endpoint.Pod(p), err
	}
}

// askVersion asks the API server for its version, which everyone may read, and takes the time from the answer. A
// time that cannot be parsed is no failure: the API server answered.
func askVersion(mgr ctrl.Manager) func(context.Context) (time.Time, error) {
	server, _, urlErr := rest.DefaultServerUrlFor(mgr.GetConfig()) // a kubeconfig may contain a host without a scheme
	return func(ctx context.Context) (time.Time, error) {
		if urlErr != nil {
			return time.Time{}, urlErr
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
		if err != nil {
			return time.Time{}, err
		}
		resp, err := mgr.GetHTTPClient().Do(req)
		if err != nil {
			return time.Time{}, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return time.Time{}, fmt.Errorf("the API server answered %s", resp.Status)
		}
		date, _ := http.ParseTime(resp.Header.Get("Date"))
		return date, nil
	}
}

func addServer(
	mgr ctrl.Manager, api *endpoint.API, pages *ui.UI, o options, synced func() bool, ready checks, secure *tls.Config,
) error {
	l := api.Limits
	server := &http.Server{Addr: o.bindAddress, Handler: byPath(o.publicURL, api, pages), TLSConfig: secure}
	server.RegisterOnShutdown(api.Drain)
	server.RegisterOnShutdown(pages.Drain)
	l.Apply(server, o.holdBudget)
	s, err := serve.Listen(server, serve.Options{
		DrainDelay:   o.drainDelay,
		DrainTimeout: drainTimeout(o),
		Bounds: serve.Bounds{
			Silent:   l.Silent,
			Unproven: l.Unproven, Idle: l.Idle, LargeHeads: l.LargeHeads, Total: l.Connections, HeaderLines: l.HeaderLines,
		},
		Await: synced,
	})
	if err != nil {
		return err
	}
	ready["http"] = s.Ready
	return mgr.Add(s)
}

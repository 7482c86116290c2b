package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/auth"
	"github.com/postflight-dev/postflight/internal/endpoint"
	"github.com/postflight-dev/postflight/internal/inputs"
	"github.com/postflight-dev/postflight/internal/match"
	"github.com/postflight-dev/postflight/internal/serve"
)

// maxConnections is more than all that may wait or be answered, and leaves some that are idle: each costs
// about 20 KiB, also of clients without a key.
const maxConnections = 8192

// drainTimeout lets requests end that are held for the API server.
func drainTimeout(o options) time.Duration { return o.holdBudget + 5*time.Second }

// setupHTTP adds the HTTP API, which every replica serves.
func setupHTTP(ctx context.Context, mgr ctrl.Manager, o options, store *inputs.Store) (*serve.Server, error) {
	authenticator, err := setupAuth(ctx, mgr)
	if err != nil {
		return nil, err
	}
	triggers := &match.Index{}
	triggersSynced, err := controllers.WatchTriggers(ctx, mgr.GetCache(), triggers)
	if err != nil {
		return nil, err
	}
	if err := endpoint.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	// Not the manager's client: its reads wait for its writes, and answers must wait for neither.
	writer, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("create the client of the HTTP API: %w", err)
	}
	limits := endpoint.DefaultLimits()
	limits.HoldBudget = o.holdBudget
	api, err := endpoint.New(endpoint.Config{
		Cache:  mgr.GetCache(),
		Live:   mgr.GetAPIReader(),
		Writer: writer,
		Authenticate: func(r *http.Request) (endpoint.Principal, error) {
			p, err := authenticator.Authenticate(r.Context(), r)
			return endpoint.Principal(p), err
		},
		Triggers:   triggers,
		Uploads:    uploads(store),
		PublicURL:  o.publicURL,
		Limits:     limits,
		Registerer: metrics.Registry,
		Log:        ctrl.Log.WithName("http"),
		Audit:      slog.New(slog.NewJSONHandler(os.Stdout, nil)),
	})
	if err != nil {
		return nil, err
	}
	suitesSynced, err := api.WatchSuites(ctx, mgr.GetCache())
	if err = errors.Join(err, knowEnvironments(ctx, mgr.GetCache())); err != nil {
		return nil, err
	}
	server := &http.Server{Addr: o.bindAddress, Handler: api}
	server.RegisterOnShutdown(api.Drain)
	limits.Apply(server)
	return addServer(mgr, server, o, func() bool { return triggersSynced() && suitesSynced() })
}

// knowEnvironments has the cache hold them before the first notification asks: it would wait for them,
// and for ever where the API server is away.
func knowEnvironments(ctx context.Context, c cache.Cache) error {
	_, err := c.GetInformer(ctx, &v1alpha1.Environment{}, cache.BlockUntilSynced(false))
	return err
}

func setupAuth(ctx context.Context, mgr ctrl.Manager) (*auth.Authenticator, error) {
	if err := auth.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	contact := &auth.Contact{Probe: probe(mgr)}
	usage := auth.NewUsage(mgr.GetClient(), time.Now)
	if err := errors.Join(mgr.Add(contact), mgr.Add(usage)); err != nil {
		return nil, err
	}
	return auth.New(auth.Config{Reader: mgr.GetCache(), Freshness: contact.Since, Used: usage.Saw}), nil
}

// probe asks the API server for its version, which anyone may.
func probe(mgr ctrl.Manager) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, mgr.GetConfig().Host+"/version", nil)
		if err != nil {
			return err
		}
		resp, err := mgr.GetHTTPClient().Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the API server answered %s", resp.Status)
		}
		return nil
	}
}

func addServer(mgr ctrl.Manager, server *http.Server, o options, synced func() bool) (*serve.Server, error) {
	s, err := serve.Listen(server, serve.Options{
		DrainDelay:   o.drainDelay,
		DrainTimeout: drainTimeout(o),
		Connections:  maxConnections,
		Await:        synced, // or it would answer that nobody wants a notification, or that a team has no runs
	})
	if err != nil {
		return nil, err
	}
	return s, errors.Join(mgr.Add(s), mgr.AddReadyzCheck("http", s.Ready))
}

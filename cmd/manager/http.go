package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/trigger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/kube/create"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
	"github.com/postflight-dev/postflight/internal/server/agents"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/handon"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/listen"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// drainTimeout lets requests end that wait for the API server.
func drainTimeout(o options) time.Duration { return o.holdBudget + 5*time.Second }

func setupHTTP(
	ctx context.Context, mgr ctrl.Manager, o options, bucket *objectstore.Bucket, probe *auth.APIServerProbe, env surroundings, ready checks,
	secure *tls.Config,
) error {
	b, err := newBackend(ctx, mgr, o, bucket, probe, env)
	if err != nil {
		return err
	}
	api, err := newAPI(mgr, o, bucket, probe, env, b)
	if err != nil {
		return err
	}
	pages, err := setupPages(ctx, mgr, o, bucket, b, env)
	if err != nil {
		return err
	}
	suitesSynced, err := b.watch(ctx, mgr.GetCache(), pages, env.clusters != nil)
	if err != nil {
		return err
	}
	// A replica that answers sooner does not know all Triggers and Suites, and may store a wrong time.
	synced := func() bool { return b.triggersSynced() && suitesSynced() && probe.Measured() }
	env.rollouts.dispatcher, env.rollouts.synced = b.dispatcher, synced
	return addServer(mgr, api, pages, o, synced, ready, secure)
}

type backend struct {
	keys           *auth.Keys
	usage          *auth.Usage
	sessions       *signin.Sessions
	writer         client.Client
	dispatcher     *dispatch.Dispatcher
	triggersSynced func() bool // all Triggers that existed at the start are known
	reader         *runs.Reader
	tests          *history.Reader // nil without a store
}

func newBackend(
	ctx context.Context, mgr ctrl.Manager, o options, bucket *objectstore.Bucket, probe *auth.APIServerProbe, env surroundings,
) (b backend, err error) {
	if b.keys, b.usage, err = setupAuth(mgr, probe, auth.ServerClock{APIServerProbe: probe}); err != nil {
		return b, err
	}
	if b.writer, err = newWriter(mgr); err != nil {
		return b, err
	}
	b.sessions = signin.NewSessions(mgr.GetAPIReader(), b.writer, o.leader.namespace, env.clock)
	if b.dispatcher, b.triggersSynced, err = setupDispatcher(ctx, mgr, o, probe, env, b.writer, inputsOfRuns(bucket)); err != nil {
		return b, err
	}
	b.tests = newHistory(bucket, env.clock)
	b.reader, err = newReader(mgr, bucket)
	return b, err
}

func newAPI(
	mgr ctrl.Manager, o options, bucket *objectstore.Bucket, probe *auth.APIServerProbe, env surroundings, b backend,
) (*api.API, error) {
	keys, err := clusterKeys(mgr, env.steady)
	if err != nil {
		return nil, err
	}
	now := auth.ServerClock{APIServerProbe: probe}
	issuers := newIssuers(mgr, o, probe, env.steady)
	waitTokens := newWaitTokens(mgr, b.sessions, now)
	waitTokens.Vouched = issuers.Vouched
	accounts := newServiceAccounts(mgr, b.writer, keys, cmp.Or[clock.PassiveClock](env.accounts, now))
	accounts.Elsewhere = issuers.Lists
	authenticator := &auth.Authenticator{Ways: []auth.Way{waitTokens, accounts, issuers}, Keys: b.keys}
	events, err := newEvents(mgr, o, probe, env, b)
	if err != nil {
		return nil, err
	}
	limits := limits.Default()
	limits.InputBytes, limits.InputSizeRequired = o.store.maxInputSize.Value(), o.store.requireInputSize
	return api.New(api.Config{
		Dispatcher:      b.dispatcher,
		Cache:           mgr.GetCache(),
		Live:            mgr.GetAPIReader(),
		Authenticate:    authenticator.Authenticate,
		WaitTokens:      waitTokens,
		AuthenticatePod: authenticatePod(b.writer, keys, env.steady),
		Authenticated:   listen.Authenticated,
		Clock:           env.steady,
		Events:          events,
		Uploads:         uploads(bucket),
		Artifacts:       artifacts(bucket),
		PublicURL:       o.publicURL,
		Limits:          limits,
		Registerer:      env.metrics,
		TeamLabel:       env.teams.Of,
		Log:             ctrl.Log.WithName("http"),
		Audit:           env.audit,
		Runs:            b.reader,
		Deployments:     pastDeployments(bucket),
		Tests:           b.tests,
		Replays:         replays(mgr.GetCache(), bucket, env.steady),
		Tracer:          env.traces.Tracer(),
		AttestationKeys: o.attestation.keys.PublicPEM,
		Clusters:        hub[handon.Clusters](env.clusters),
	})
}

func (b backend) watch(ctx context.Context, c cache.Cache, pages *pages.UI, hub bool) (synced func() bool, err error) {
	synced, err = b.dispatcher.WatchSuites(ctx, c, func(before, after *v1alpha1.Suite) {
		b.reader.SuiteChanged(before, after)
		if s := cmp.Or(after, before); s != nil {
			pages.Changed(s.Namespace)
		}
	})
	return synced, errors.Join(err, cacheForNotifications(ctx, c, hub), watchForPages(ctx, c, pages))
}

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
	ctx context.Context, mgr ctrl.Manager, o options, probe *auth.APIServerProbe, env surroundings,
	writer client.Client, inputs dispatch.Inputs,
) (*dispatch.Dispatcher, func() bool, error) {
	triggers := &match.Index{}
	synced, err := trigger.WatchTriggers(ctx, mgr.GetCache(), triggers)
	if err != nil {
		return nil, nil, err
	}
	dispatcher, err := dispatch.New(dispatch.Config{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Writer: writer, Inputs: inputs, Triggers: triggers, LeftOut: env.bounds.LeftOutTriggers,
		Budget: o.holdBudget, Limits: dispatch.DefaultLimits(), ServerTime: probe.ServerTime, Clock: env.steady,
		Tracer: env.traces.Tracer(), Journal: env.journalOfDispatcher(), Clusters: hub[dispatch.Clusters](env.clusters),
	})
	return dispatcher, synced, err
}

// newWriter creates a client of its own: the manager's makes reads wait for writes, and answers must not wait.
func newWriter(mgr ctrl.Manager) (client.Client, error) {
	writer, err := create.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("create the client of the HTTP API: %w", err)
	}
	return writer, nil
}

// Otherwise the first notification would wait for the cache: forever, if the API server is unavailable.
func cacheForNotifications(ctx context.Context, c cache.Cache, hub bool) error {
	var errs []error
	if hub {
		_, err := c.GetInformer(ctx, &v1alpha1.Cluster{}, cache.BlockUntilSynced(false))
		errs = append(errs, err)
	}
	for _, kind := range []client.Object{&v1alpha1.Environment{}, &v1alpha1.TriggerClass{}, &v1alpha1.EventSource{},
		&v1alpha1.DeploymentGate{}, &v1alpha1.DeploymentReview{}} {
		_, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func addServer(
	mgr ctrl.Manager, api *api.API, pages *pages.UI, o options, synced func() bool, ready checks, secure *tls.Config,
) error {
	l := api.Limits
	agents, err := agents.New(agents.Config{API: api, PublicURL: o.publicURL, Hosts: o.pageHosts, Actions: o.agentActions, Limits: l})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: o.bindAddress, Handler: byPath(o.publicURL, api, agents, pages), TLSConfig: secure}
	server.RegisterOnShutdown(api.Drain)
	server.RegisterOnShutdown(pages.Drain)
	l.Apply(server, o.holdBudget)
	s, err := listen.Listen(server, listen.Options{
		DrainDelay:   o.drainDelay,
		DrainTimeout: drainTimeout(o),
		Bounds: listen.Bounds{
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

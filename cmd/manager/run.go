package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/controllers/cluster"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/lead"
	"github.com/postflight-dev/postflight/internal/outbound/tracing"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/auth/issuer"
	"github.com/postflight-dev/postflight/internal/spoke"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// surroundings are what a test replaces to run several managers in one process.
type surroundings struct {
	clock   clock.PassiveClock // of the machine
	steady  clock.PassiveClock // agrees with clock at the start, and is never set
	metrics metrics.RegistererGatherer
	traces  *tracing.Tracing // nil: off
	teams   *fairness.Labels // that metrics tell apart
	audit   *slog.Logger     // of requests to the HTTP API and the pages

	accounts clock.PassiveClock // for how long answers about ServiceAccounts count; nil: the API server's

	rollouts *rollouts
	bounds   *bounded.Roster  // of the cache
	journal  *archive.Journal // nil without a store
	clusters *spoke.Clients   // nil: this manager is no hub
}

func run(ctx context.Context, o options) error {
	// The Go runtime collects before the container's memory limit is reached. It logs why, if it cannot know the limit.
	_, _ = memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithLogger(newLogger(o)))
	machine, err := machineClock()
	if err != nil {
		return err
	}
	return runIn(ctx, o, surroundings{clock: machine, metrics: metrics.Registry})
}

func newLogger(o options) *slog.Logger {
	return slog.New(lateHandler{Handler: slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: o.logLevel})})
}

func runIn(ctx context.Context, o options, env surroundings) error {
	log := newLogger(o)
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	env.steady = auth.NewSteadyClock(env.clock)

	if err := noticeDeadConnections(); err != nil {
		return err
	}
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	if env.traces, err = setupTraces(ctx, o); err != nil {
		return err
	}
	defer flush(env.traces)
	env.rollouts, env.bounds = &rollouts{steady: env.steady}, bounded.New()
	env.teams, env.audit = fairness.NewLabels(o.metricsTeams), slog.New(slog.NewJSONHandler(os.Stdout, nil))
	if err := registerBuild(env.metrics); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, managerOptions(o, env.bounds))
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	ready := checks{}
	bucket, err := setupStore(mgr, o.store, env.metrics, ready)
	if err != nil {
		return err
	}
	if err := setupAttestations(mgr, o.attestation, env.metrics); err != nil {
		return err
	}
	if env.journal, err = setupJournal(mgr, bucket, env.metrics); err != nil {
		return err
	}
	defer saveJournal(env.journal)
	if env.clusters, err = newClusters(mgr, o, env.clock); err != nil {
		return err
	}
	probe, err := setupAPIServerProbe(ctx, mgr, o, env, ready)
	if err != nil {
		return err
	}
	if err := setupReconciling(ctx, mgr, o, bucket, probe, env); err != nil {
		return err
	}
	if err := setupServers(ctx, mgr, o, bucket, probe, env, ready); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func setupReconciling(
	ctx context.Context, mgr ctrl.Manager, o options, bucket *objectstore.Bucket, probe *auth.APIServerProbe, env surroundings,
) error {
	now := auth.ServerClock{APIServerProbe: probe}
	image, err := imageOfPods(ctx, mgr.GetAPIReader(), mgr.GetLogger(), o)
	if err != nil {
		return err
	}
	inputs := runInputs(bucket, image, o)
	records, keepers, err := setupRecords(mgr, bucket, now, env.metrics)
	if err != nil {
		return err
	}
	records.Signer, records.PublicURL = o.attestation.signer(), o.publicURL
	if err := index.Setup(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	metrics, err := controllers.NewMetrics(env.metrics, mgr.GetCache(), env.teams, now)
	if err != nil {
		return err
	}
	reports := o.codeHosts.config(o.publicURL)
	return setupLead(mgr, o.leader, controllers.Config{
		Clock: now, Metrics: metrics, PodGoneAfter: o.podGoneAfter,
		Inputs: inputs, Image: image, Archive: records,
		Documents: runDocuments(bucket), Collector: collector(inputs, o), Tests: testsOfRuns(bucket),
		Reports: reports, Announce: o.webhooks.config(o.publicURL, o.codeHosts.clusterName),
		Scope: o.scope.Scope, Bounds: env.bounds,
		Events: eventsOfApp(o), Gates: gates(mgr, reports, env, now), Issuers: issuer.Audiences(o.issuers),
		Clusters: hub[cluster.Clusters](env.clusters), Trace: env.traces.Send, Notifier: env.rollouts, Schedules: schedules{env.rollouts},
		Deployments: deploymentStore(bucket),
	}, keepers...)
}

func setupServers(
	ctx context.Context, mgr ctrl.Manager, o options, bucket *objectstore.Bucket, probe *auth.APIServerProbe, env surroundings, ready checks,
) error {
	secure, err := setupTLS(mgr, o.tls, env.metrics)
	if err != nil {
		return err
	}
	if err := setupHTTP(ctx, mgr, o, bucket, probe, env, ready, secure); err != nil {
		return err
	}
	return errors.Join(setupMetrics(mgr, o, secure, env.metrics), setupProbes(mgr, o.probeAddress, ready))
}

// A silent connection is pinged after 5 s and closed 5 s later: the defaults would take all of the time a notification can be held.
func noticeDeadConnections() error {
	for _, name := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, "5"); err != nil {
			return err
		}
	}
	return nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to connect to (name one with --kubeconfig, or run inside one): %w", err)
	}
	// The part before the slash is the field manager of what it writes.
	config.UserAgent = version.UserAgent("manager")
	config.Wrap(lead.Fence)
	config.QPS = -1 // the API server's priority and fairness protects it better than a client can
	return config, nil
}

func managerOptions(o options, bounds *bounded.Roster) ctrl.Options {
	options := ctrl.Options{
		Scheme:                  newScheme(),
		NewCache:                index.NewCache,
		Cache:                   controllers.CacheOptions(bounds),
		Client:                  controllers.ClientOptions(),
		Metrics:                 metricsserver.Options{BindAddress: "0"}, // setupMetrics and setupProbes serve both
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: ptr.To(o.drainDelay + drainTimeout(o) + 5*time.Second),
	}
	o.scope.Limit(&options)
	return options
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

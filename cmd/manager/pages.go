package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/listen"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/pages/overview"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
	"github.com/postflight-dev/postflight/internal/usecase/failures"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

func setupPages(
	ctx context.Context, mgr ctrl.Manager, o options, bucket *objectstore.Bucket, b backend, env surroundings,
) (*pages.UI, error) {
	o.signIn.Log = ctrl.Log.WithName("sign-in")
	if err := errors.Join(b.sessions.Watch(ctx, mgr), mgr.Add(o.signIn), o.signIn.Register(env.metrics)); err != nil {
		return nil, err
	}
	return pages.New(pages.Config{
		Cache: mgr.GetCache(), Runs: b.reader, Failures: failuresOfPages(mgr, o, bucket, b), SendingLogs: b.reader.Sending,
		Authenticator: &signin.People{Keys: b.keys, Source: o.signIn, Sessions: b.sessions, Cache: mgr.GetCache(), Clock: env.clock},
		Provider:      signin.Provider{Source: o.signIn, Sessions: b.sessions}, SealingKey: b.sessions.Key,
		Config: overview.Config{
			Lease: o.leader.reader(mgr.GetAPIReader()), StoreProblem: problemOf(bucket), Explain: explainer(b.dispatcher, env.steady),
			Deployments: pastDays(mgr, bucket), Tests: testsOfPages(b.tests), Clusters: clustersOfPages(mgr.GetCache(), env.clusters),
			Verdicts: verdictReader(mgr.GetCache(), b.dispatcher), Starter: b.dispatcher, Sites: o.codeHosts.sites(),
		},
		Actions: b.dispatcher, Steady: env.steady, Authenticated: listen.Authenticated, OpenAPI: api.OpenAPI,
		PublicURL: o.publicURL, Hosts: o.pageHosts, Limits: site.DefaultLimits(),
		Log: ctrl.Log.WithName("pages"), Audit: env.audit, Clock: env.clock,
	})
}

// verdictReader answers with the times of the API server, as the HTTP API does.
func verdictReader(c client.Reader, d *dispatch.Dispatcher) *verdicts.Reader {
	return &verdicts.Reader{Cache: c, LeftOut: d.LeftOut, Now: func() time.Time { return d.ServerTime(d.Clock.Now()) }}
}

// testsOfPages is nil without a store.
func testsOfPages(r *history.Reader) overview.Tests {
	if r == nil {
		return nil
	}
	return r
}

func failuresOfPages(mgr ctrl.Manager, o options, bucket *objectstore.Bucket, b backend) *failures.Reader {
	return &failures.Reader{Runs: b.reader, Tests: b.tests, PublicURL: o.publicURL, OmitLog: true, Environments: pastEnvironments(mgr, bucket)}
}

func pastEnvironments(mgr ctrl.Manager, bucket *objectstore.Bucket) *environments.Reader {
	return &environments.Reader{Cache: mgr.GetCache(), Archive: pastDeployments(bucket), LookupTimeout: runs.DefaultLimits().LookupTimeout}
}

// pastDays is nil without a store.
func pastDays(
	mgr ctrl.Manager, bucket *objectstore.Bucket,
) func(context.Context, *v1alpha1.Team, string, record.Span) ([]httpapi.Deployment, error) {
	if bucket == nil {
		return nil
	}
	return pastEnvironments(mgr, bucket).Archived
}

func watchForPages(ctx context.Context, objects cache.Cache, pages *pages.UI) error {
	changed := func(o any) {
		if object, ok := index.Object[client.Object](o); ok {
			pages.Changed(object.GetNamespace())
		}
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, after any) { changed(after) },
		DeleteFunc: changed,
	}
	for _, kind := range []client.Object{
		&v1alpha1.Trigger{}, &v1alpha1.Environment{}, &v1alpha1.DeploymentGate{}, &v1alpha1.DeploymentReview{}, &batchv1.Job{},
	} {
		informer, err := objects.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watch %T for the pages: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch %T for the pages: %w", kind, err)
		}
	}
	return nil
}

func explainer(
	d *dispatch.Dispatcher, clock clock.PassiveClock,
) func(context.Context, *v1alpha1.Team, *notification.Notification) (iter.Seq[match.Explanation], error) {
	return func(ctx context.Context, team *v1alpha1.Team, n *notification.Notification) (iter.Seq[match.Explanation], error) {
		result, err := d.Dispatch(ctx, dispatch.Request{
			Team: team, Notification: n, Mode: dispatch.DryRun, OnlyHere: true, RequestID: "explain." + rand.Text(), ReceivedAt: clock.Now(),
		})
		return result.Explanations, err
	}
}

// apiPaths are the first segments of the paths that belong to the HTTP API.
var apiPaths = map[string]bool{"api": true, "openapi.yaml": true, ".well-known": true}

// agentPath is where agents ask.
const agentPath = "mcp"

// Clients of the API may call //api/v0/..., and proxies may or may not remove the base path.
func byPath(publicURL string, api, agents, pages http.Handler) http.Handler {
	public, _ := publicurl.Parse(publicURL) // the flag was checked
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimLeft(public.Below("/"+strings.TrimLeft(r.URL.Path, "/")), "/")
		first, _, _ := strings.Cut(path, "/")
		switch {
		case path == agentPath:
			agents.ServeHTTP(w, r)
		case apiPaths[first]:
			r.URL.Path, r.URL.RawPath = "/"+path, ""
			api.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

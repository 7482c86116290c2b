package controllers

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/controllers/announce"
	"github.com/postflight-dev/postflight/controllers/archive"
	"github.com/postflight-dev/postflight/controllers/cluster"
	"github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/controllers/deploymentgate"
	"github.com/postflight-dev/postflight/controllers/eventsource"
	"github.com/postflight-dev/postflight/controllers/evictions"
	"github.com/postflight-dev/postflight/controllers/quarantine"
	"github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/controllers/schedule"
	"github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/controllers/tenancy"
	"github.com/postflight-dev/postflight/controllers/trigger"
	corereport "github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/scope"
)

// Config is what the reconcilers need besides a manager.
type Config struct {
	Clock        clock.PassiveClock
	Metrics      *Metrics
	Inputs       suite.InputsConfig
	Image        string          // see suite.Config
	Collector    *job.Collector  // nil: no store is configured
	Tests        suite.Tests     // nil: no store is configured
	Documents    suite.Documents // nil: no store is configured
	Archive      archive.Config  // its store and its logs
	Reports      report.Config
	Gates        deploymentgate.Config
	Announce     announce.Config
	Events       eventsource.Config
	Notifier     deployed.Notifier // of rollouts
	Schedules    schedule.Notifier
	Deployments  deployed.Store      // nil: none is configured
	Issuers      map[string][]string // whose tokens TrustPolicies may trust: their audiences by URL
	Scope        scope.Scope         // as it limited the options of the manager
	Bounds       *bounded.Roster     // of CacheOptions
	Clusters     cluster.Clusters    // nil: this manager is no hub
	Trace        suite.SendTrace     // nil: traces are off
	PodGoneAfter time.Duration       // see suite.Config
	UntouchedFor time.Duration       // see suite.Config

}

// ClientOptions make each reconcile see what the previous one wrote: reads wait until the cache has caught up.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
}

// Setup registers all reconcilers with a manager that has ClientOptions and the indexes of index.Setup: once a term, with the same Metrics.
func Setup(mgr ctrl.Manager, config Config) error {
	clock, metrics, archives, handovers := config.Clock, config.Metrics, config.Archive.Store != nil, archive.NewHandovers()
	config.Archive.Clock, config.Archive.Metrics, config.Archive.Handovers = clock, metrics.archive, handovers
	config.Archive.Namespaces = config.Scope.Watched()
	workloads, err := deployed.NewWorkloads(mgr, clock)
	if err != nil {
		return err
	}
	evicted, err := evictions.New(mgr, clock, config.Scope.Watched())
	if err != nil {
		return err
	}
	config.Archive.Evictions = evicted
	budgets := &corereport.Budgets{} // code hosts count the requests of a credential, whatever they are for
	err = errors.Join(
		mgr.Add(evicted),
		mgr.Add(&bounded.Reporter{Roster: config.Bounds, Client: mgr.GetClient(), Clock: clock}),
		suite.Add(mgr, suite.Config{
			Clock: clock, Metrics: metrics.suites, Inputs: config.Inputs, Image: config.Image, Collector: config.Collector, Tests: config.Tests,
			Documents: config.Documents, Handovers: handovers, Evictions: evicted,
			Archives: archives, Workloads: deployed.NewReader(mgr, workloads, clock),
			Trace: config.Trace, PodGoneAfter: config.PodGoneAfter, UntouchedFor: config.UntouchedFor,
		}),
		report.Add(mgr, config.Reports, budgets, clock, metrics.reports),
		trigger.Add(mgr, clock),
		quarantine.Add(mgr, clock),
		deployed.Add(mgr, workloads, clock, config.Notifier, config.Deployments),
		schedule.Add(mgr, clock, config.Schedules),
		tenancy.Add(mgr, clock, archives, config.Scope, config.Issuers),
		eventsource.Add(mgr, clock, config.Events),
		deploymentgate.Add(mgr, config.Gates, budgets, clock, metrics.reviews),
		announce.Add(mgr, config.Announce, clock, metrics.messages),
		archive.Add(mgr, config.Archive),
	)
	if config.Clusters != nil {
		err = errors.Join(err, cluster.Add(mgr, config.Clusters))
	}
	if err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	return nil
}

package controllers

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config is what the reconcilers need besides a manager.
type Config struct {
	Clock      clock.PassiveClock
	Registerer prometheus.Registerer
	Inputs     InputsConfig
	Reports    ReportConfig

	// PodGoneAfter is how long after its grace period a pod that has not stopped counts as lost;
	// 0 means DefaultPodGoneAfter.
	PodGoneAfter time.Duration
}

// DefaultPodGoneAfter is longer than a node takes to reboot, and shorter than people want to wait for the test of
// a deployment.
const DefaultPodGoneAfter = 10 * time.Minute

// ClientOptions make each reconcile see what the previous one wrote: reads wait until the cache has caught up.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
}

// Setup registers all reconcilers with the manager, which must have the options above and the indexes of index.Setup.
func Setup(mgr ctrl.Manager, config Config) error {
	metrics, err := NewSuiteMetrics(config.Registerer, mgr.GetCache())
	if err != nil {
		return fmt.Errorf("register the metrics of Suites: %w", err)
	}
	reportMetrics, err := NewReportMetrics(config.Registerer)
	if err != nil {
		return fmt.Errorf("register the metrics of reports: %w", err)
	}
	c, recorder := mgr.GetClient(), mgr.GetEventRecorder("postflight")
	for _, r := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&SuiteReconciler{
			Client:   c,
			Live:     mgr.GetAPIReader(),
			Recorder: recorder,
			Clock:    config.Clock,
			Metrics:  metrics,
			Inputs:   config.Inputs,

			PodGoneAfter: cmp.Or(config.PodGoneAfter, DefaultPodGoneAfter),
			queues:       keymutex.NewHashed(queueLocks),
			warnings:     newWarnings(mgr.GetAPIReader(), config.Clock),
		},
		&ReportReconciler{Client: c, Live: mgr.GetAPIReader(), Clock: config.Clock, Config: config.Reports, Metrics: reportMetrics},
		&TriggerReconciler{Client: c, Recorder: recorder},
		&EnvironmentReconciler{Client: c, Live: mgr.GetAPIReader(), Clock: config.Clock},
		&TeamReconciler{Client: c},
		&APIKeyReconciler{Client: c, Clock: config.Clock},
	} {
		if err := r.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", r, err)
		}
	}
	return nil
}

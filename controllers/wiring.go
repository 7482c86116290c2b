package controllers

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/job"
	"github.com/postflight-dev/postflight/internal/kube/scope"
)

// Config is what the reconcilers need besides a manager.
type Config struct {
	Clock     clock.PassiveClock
	Metrics   *Metrics
	Inputs    InputsConfig
	Collector *job.Collector // nil: no store is configured
	Archive   ArchiveConfig
	Reports   ReportConfig
	Announce  AnnounceConfig
	Scope     scope.Scope // as it limited the options of the manager
	Trace     SendTrace   // nil: traces are off

	// PodGoneAfter is how long after its grace period a pod that has not stopped counts as lost;
	// 0 means DefaultPodGoneAfter.
	PodGoneAfter time.Duration

	// UntouchedFor is how long a new Job that Kubernetes has not changed yet may stay unreported; 0 means untouchedFor.
	UntouchedFor time.Duration
}

// untouchedFor is longer than a burst of a thousand runs takes: statuses would compete with its Jobs. Kubernetes mostly changes
// a Job within a tenth of a second.
const untouchedFor = 10 * time.Second

// DefaultPodGoneAfter is longer than a node takes to reboot, and shorter than people want to wait for the test of
// a deployment.
const DefaultPodGoneAfter = 10 * time.Minute

// ClientOptions make each reconcile see what the previous one wrote: reads wait until the cache has caught up.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
}

// Setup registers all reconcilers with the manager, which must have the options above and the indexes of index.Setup. A
// process that leads for several terms calls it for each, with a manager of the term and the same metrics.
func Setup(mgr ctrl.Manager, config Config) error {
	handovers := newHandovers()
	c, recorder := mgr.GetClient(), mgr.GetEventRecorder("postflight")
	reconcilers := []interface{ SetupWithManager(ctrl.Manager) error }{
		&SuiteReconciler{
			Client:   c,
			Live:     mgr.GetAPIReader(),
			Recorder: recorder,
			Clock:    config.Clock,
			Metrics:  config.Metrics.suites,
			Inputs:   config.Inputs,
			Archives: config.Archive.Store != nil,

			Collector:    config.Collector,
			Trace:        config.Trace,
			PodGoneAfter: cmp.Or(config.PodGoneAfter, DefaultPodGoneAfter),
			UntouchedFor: cmp.Or(config.UntouchedFor, untouchedFor),
			queues:       newQueues(),
			starts:       newStarts(),
			turns:        newStatusTurns(),
			streams:      newStreams(),
			handovers:    handovers,
			warnings:     newWarnings(mgr.GetAPIReader(), config.Clock),
		},
		&ReportReconciler{Client: c, Live: mgr.GetAPIReader(), Clock: config.Clock, Config: config.Reports, Metrics: config.Metrics.reports},
		&TriggerReconciler{Client: c, Recorder: recorder, pace: newCountPace(config.Clock)},
		&EnvironmentReconciler{Client: c, Live: mgr.GetAPIReader(), Clock: config.Clock, Archives: config.Archive.Store != nil},
		&APIKeyReconciler{Client: c, Clock: config.Clock},
	}
	if !config.Scope.Limited() {
		reconcilers = append(reconcilers, &TeamReconciler{Client: c, Live: mgr.GetAPIReader(), Clock: config.Clock})
	}
	for _, r := range reconcilers {
		if err := r.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", r, err)
		}
	}
	return errors.Join(setupAnnouncements(mgr, config), setupArchive(mgr, config, handovers))
}

func setupAnnouncements(mgr ctrl.Manager, config Config) error {
	if config.Announce.Sender == nil {
		return nil
	}
	r := &AnnounceReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("postflight"),
		Clock: config.Clock, Config: config.Announce, Metrics: config.Metrics.messages,
	}
	return r.SetupWithManager(mgr)
}

// setupArchive does nothing without a store: logs then end with their pods.
func setupArchive(mgr ctrl.Manager, config Config, handovers *handovers) error {
	if config.Archive.Store == nil {
		return nil
	}
	rescue, err := newRescue(mgr, config)
	if err != nil {
		return err
	}
	backlog := newBacklog()
	config.Metrics.archive.backlog.Store(backlog)
	r := &ArchiveReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Archive: config.Archive.Store, Logs: config.Archive.Logs, Clock: config.Clock,
		Metrics: config.Metrics.archive, Rescue: rescue, backlog: backlog, handovers: handovers, silent: newSilentNodes(config.Clock),
	}
	return errors.Join(mgr.Add(rescue), r.SetupWithManager(mgr))
}

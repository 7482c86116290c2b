// Package archive saves the records and logs of runs that have ended, and rescues the logs of pods that go.
package archive

import (
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Add registers the reconciler and the rescue of logs. It does nothing without a store: logs then end with their pods.
func Add(mgr ctrl.Manager, config Config) error {
	if config.Store == nil {
		return nil
	}
	rescue, err := newRescue(mgr, config)
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Config: config,
		rescue: rescue, backlog: newBacklog(), silent: newSilentNodes(config.Clock),
	}
	config.Metrics.backlog.Store(r.backlog)
	return errors.Join(mgr.Add(rescue), r.SetupWithManager(mgr))
}

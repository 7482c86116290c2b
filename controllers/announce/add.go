// Package announce tells receivers about Suites.
package announce

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Add registers the reconciler with a manager, unless there is no sender.
func Add(mgr ctrl.Manager, config Config, clock clock.PassiveClock, metrics *Metrics) error {
	if config.Sender == nil {
		return nil
	}
	r := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("postflight"),
		Clock: clock, Config: config, Metrics: metrics,
	}
	return r.SetupWithManager(mgr)
}

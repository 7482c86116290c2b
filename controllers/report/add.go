// Package report shows the state of Suites on code hosts.
package report

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, config Config, clock clock.PassiveClock, metrics *Metrics) error {
	r := &Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock, Config: config, Metrics: metrics}
	return r.SetupWithManager(mgr)
}

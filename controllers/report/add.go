// Package report shows the state of Suites on code hosts.
package report

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/core/report"
)

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, config Config, budgets *report.Budgets, clock clock.PassiveClock, metrics *Metrics) error {
	r := &Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock, Config: config, Metrics: metrics, budgets: budgets}
	return r.SetupWithManager(mgr)
}

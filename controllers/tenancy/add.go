// Package tenancy keeps the status of Teams and APIKeys, and ends ephemeral Environments.
package tenancy

import (
	"errors"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/kube/scope"
)

// Add registers the reconcilers with a manager; that of Teams only if the manager may read them.
func Add(mgr ctrl.Manager, clock clock.PassiveClock, archives bool, limits scope.Scope) error {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	errs := []error{
		(&EnvironmentReconciler{Client: c, Live: live, Clock: clock, Archives: archives}).SetupWithManager(mgr),
		(&APIKeyReconciler{Client: c, Clock: clock}).SetupWithManager(mgr),
	}
	if !limits.Limited() {
		errs = append(errs, (&TeamReconciler{Client: c, Live: live, Clock: clock}).SetupWithManager(mgr))
	}
	return errors.Join(errs...)
}

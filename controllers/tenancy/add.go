// Package tenancy keeps the status of Teams, APIKeys and TrustPolicies, and ends ephemeral Environments.
package tenancy

import (
	"errors"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/kube/scope"
)

// Add registers the reconcilers with a manager. Teams have one only if the manager may read them. The issuers are for
// TrustPolicyReconciler.
func Add(mgr ctrl.Manager, clock clock.PassiveClock, archives bool, limits scope.Scope, issuers map[string][]string) error {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	errs := []error{
		(&EnvironmentReconciler{Client: c, Live: live, Clock: clock, Archives: archives}).SetupWithManager(mgr),
		(&APIKeyReconciler{Client: c, Clock: clock}).SetupWithManager(mgr),
		(&TrustPolicyReconciler{Client: c, Issuers: issuers}).SetupWithManager(mgr),
	}
	if !limits.Limited() {
		errs = append(errs, (&TeamReconciler{Client: c, Live: live, Clock: clock}).SetupWithManager(mgr))
	}
	return errors.Join(errs...)
}

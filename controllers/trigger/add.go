// Package trigger counts the runs of Triggers, and fills the match.Index.
package trigger

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, clock clock.PassiveClock) error {
	r := &Reconciler{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("postflight"), pace: reconcile.NewPace(clock), turns: reconcile.NewTurns()}
	return r.SetupWithManager(mgr)
}

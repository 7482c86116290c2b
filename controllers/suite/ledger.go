package suite

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// readLedger reads what was deployed to the Environment of a run, also if that is gone.
func (r *Reconciler) readLedger(ctx context.Context, o *lifecycle.Observation) error {
	e, err := reconcile.Shared[v1alpha1.Environment](ctx, r, o.Suite.Namespace, o.Suite.Spec.Environment)
	if err != nil {
		return err
	}
	if e == nil {
		e = &v1alpha1.Environment{}
		e.Name, e.UID = o.Suite.Spec.Environment, o.Suite.Spec.EnvironmentUID
	}
	runs, err := r.suites(ctx, o.Suite.Namespace, client.MatchingFields{index.Deployed: e.Name})
	o.Ledger = ledger.Of(e, runs)
	return err
}

// completeLedger also knows what was deployed just before. After a lost connection, the watch that has shown the end of the tests may be ahead
// of the one that shows new runs by seconds. The order of what a watch shows is certain: once the cache has a write to this run, it has
// all that was deployed before it.
func (r *Reconciler) completeLedger(ctx context.Context, o *lifecycle.Observation) error {
	s := o.Suite.DeepCopy()
	s.Status.DeploymentsReadAt = suite.MicroTime(r.Clock.Now())
	if err := r.Status().Patch(ctx, s, client.MergeFromWithOptions(o.Suite, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	cacheCtx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	if _, err := reconcile.Shared[v1alpha1.Suite](cacheCtx, r, s.Namespace, s.Name); err != nil {
		return fmt.Errorf("wait until the cache has all deployments: %w", err)
	}
	o.Suite, o.Complete = s, true
	return r.readLedger(ctx, o)
}
